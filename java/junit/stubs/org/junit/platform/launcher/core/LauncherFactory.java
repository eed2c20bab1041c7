package org.junit.platform.launcher.core;

import org.junit.platform.launcher.Launcher;

/** To compile against only. */
public class LauncherFactory {
    private LauncherFactory() {}

    public static native Launcher create(LauncherConfig config);
}
