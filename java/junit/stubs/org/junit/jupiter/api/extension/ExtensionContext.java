package org.junit.jupiter.api.extension;

/** To compile against only. */
public interface ExtensionContext {}
