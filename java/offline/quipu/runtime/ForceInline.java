package quipu.runtime;

/** Stands for the JDK's annotation, which works inside an agent only. */
@interface ForceInline {}
