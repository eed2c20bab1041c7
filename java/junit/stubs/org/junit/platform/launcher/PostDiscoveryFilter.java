package org.junit.platform.launcher;

import org.junit.platform.engine.Filter;
import org.junit.platform.engine.TestDescriptor;

/** As much of the JUnit Platform as the listener needs to be compiled; never part of a jar. */
public interface PostDiscoveryFilter extends Filter<TestDescriptor> {}
