; What no current compiler emits: subroutines, wide locals, goto_w, branches to the first instruction, a handler that
; is also reached by branching. Version 49, so the old verifier infers types.
.version 49 0
.class public Odd
.super java/lang/Object

.method public static main : ([Ljava/lang/String;)V
    .code stack 4 locals 4
        iconst_0
        istore_1
    LOOP:
        iload_1
        invokestatic Method Odd subroutine (I)I
        invokestatic Method Odd print (I)V
        iload_1
        invokestatic Method Odd wide (I)I
        invokestatic Method Odd print (I)V
        iload_1
        invokestatic Method Odd far (I)I
        invokestatic Method Odd print (I)V
        iload_1
        invokestatic Method Odd switches (I)I
        invokestatic Method Odd print (I)V
        iload_1
        invokestatic Method Odd loopAtZero (I)I
        invokestatic Method Odd print (I)V
        iload_1
        invokestatic Method Odd sharedHandler (I)I
        invokestatic Method Odd print (I)V
        iinc 1 1
        iload_1
        bipush 12
        if_icmplt LOOP
        return
    .end code
.end method

.method static print : (I)V
    .code stack 2 locals 1
        getstatic Field java/lang/System out Ljava/io/PrintStream;
        iload_0
        invokevirtual Method java/io/PrintStream println (I)V
        return
    .end code
.end method

; A finally block as javac 1.3 made it: called from both ways out, with a loop inside.
.method static subroutine : (I)I
    .code stack 3 locals 6
        iconst_0
        istore_3
    LSTART:
        bipush 100
        iload_0
        iconst_3
        irem
        idiv
        istore_1
        jsr LFINALLY
        iload_1
        iload_3
        iadd
        ireturn
    LEND:
        astore 4
        jsr_w LFINALLY
        iload_3
        ineg
        ireturn
    LFINALLY:
        astore_2
    LAGAIN:
        iinc 3 7
        iload_3
        bipush 30
        if_icmplt LAGAIN
        ret 2
        .catch java/lang/ArithmeticException from LSTART to LEND using LEND
    .end code
.end method

.method static wide : (I)I
    .code stack 4 locals 400
        iload_0
        wide istore 300
        wide iinc 300 1000
        lconst_1
        wide lstore 301
        wide iload 300
        i2l
        wide lload 301
        ladd
        l2i
        jsr LSUB
        ireturn
    LSUB:
        wide astore 305
        wide iinc 300 -1000
        wide ret 305
    .end code
.end method

.method static far : (I)I
    .code stack 2 locals 1
        iload_0
        ifeq LZERO
        goto_w LREST
    LZERO:
        bipush -5
        ireturn
    LREST:
        iload_0
        iconst_2
        imul
        ireturn
    .end code
.end method

.method static switches : (I)I
    .code stack 2 locals 2
        iload_0
        tableswitch 2
            L1
            L2
            L1
            default : L3
    L1:
        iload_0
        lookupswitch
            -2147483648 : L2
            2 : L4
            2147483647 : L3
            default : L2
    L2:
        bipush 22
        ireturn
    L3:
        iload_0
        lookupswitch
            default : L4
    L4:
        iload_0
        bipush 44
        iadd
        ireturn
    .end code
.end method

.method static loopAtZero : (I)I
    .code stack 2 locals 1
    LTOP:
        iinc 0 3
        iload_0
        bipush 20
        if_icmplt LTOP
        iload_0
        ireturn
    .end code
.end method

; The handler is also where a branch goes, with null for the exception.
.method static sharedHandler : (I)I
    .code stack 3 locals 2
        aconst_null
        iload_0
        iconst_4
        if_icmpeq LHANDLER
        pop
    LFROM:
        bipush 9
        iload_0
        iconst_5
        isub
        idiv
        ireturn
    LTO:
    LHANDLER:
        ifnull LWASNULL
        iconst_m1
        ireturn
    LWASNULL:
        iconst_1
        ireturn
        .catch java/lang/ArithmeticException from LFROM to LTO using LHANDLER
    .end code
.end method
.end class
