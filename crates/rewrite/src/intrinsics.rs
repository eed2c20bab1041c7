//! What the JIT replaces with code of its own in JDK 8. Newer JDKs mark these methods with an annotation; there the list is
//! part of the VM (`vmSymbols.hpp`). Native methods are left out: they are opaque anyway.

use quipu_classfile::Method;

/// The newest version of class files that JDK 8 has: its own classes have it, and those of newer JDKs have not.
const JDK_8: u16 = 52;

/// Class, and methods as `name` or `nameDESCRIPTOR`, separated by spaces.
const METHODS: [(&str, &str); 27] = [
    (
        "java/lang/Math",
        "abs(D)D sin cos tan atan2 sqrt log log10 pow exp min(II)I max(II)I addExact decrementExact incrementExact \
         multiplyExact negateExact subtractExact",
    ),
    ("java/lang/Boolean", "valueOf(Z)Ljava/lang/Boolean; booleanValue"),
    ("java/lang/Byte", "valueOf(B)Ljava/lang/Byte; byteValue"),
    ("java/lang/Character", "valueOf(C)Ljava/lang/Character; charValue reverseBytes"),
    ("java/lang/Short", "valueOf(S)Ljava/lang/Short; shortValue reverseBytes"),
    (
        "java/lang/Integer",
        "valueOf(I)Ljava/lang/Integer; intValue toString(I)Ljava/lang/String; numberOfLeadingZeros \
         numberOfTrailingZeros bitCount reverseBytes",
    ),
    (
        "java/lang/Long",
        "valueOf(J)Ljava/lang/Long; longValue numberOfLeadingZeros numberOfTrailingZeros bitCount reverseBytes",
    ),
    ("java/lang/Float", "valueOf(F)Ljava/lang/Float; floatValue floatToIntBits"),
    ("java/lang/Double", "valueOf(D)Ljava/lang/Double; doubleValue doubleToLongBits"),
    (
        "java/lang/String",
        "<init>(Ljava/lang/String;)V compareTo(Ljava/lang/String;)I indexOf(Ljava/lang/String;)I \
         equals(Ljava/lang/Object;)Z",
    ),
    (
        "java/lang/StringBuilder",
        "<init>()V <init>(I)V <init>(Ljava/lang/String;)V append(C)Ljava/lang/StringBuilder; \
         append(I)Ljava/lang/StringBuilder; append(Ljava/lang/String;)Ljava/lang/StringBuilder; \
         toString()Ljava/lang/String;",
    ),
    (
        "java/lang/StringBuffer",
        "<init>()V <init>(I)V <init>(Ljava/lang/String;)V append(C)Ljava/lang/StringBuffer; \
         append(I)Ljava/lang/StringBuffer; append(Ljava/lang/String;)Ljava/lang/StringBuffer; \
         toString()Ljava/lang/String;",
    ),
    (
        "java/util/Arrays",
        "copyOf([Ljava/lang/Object;ILjava/lang/Class;)[Ljava/lang/Object; \
         copyOfRange([Ljava/lang/Object;IILjava/lang/Class;)[Ljava/lang/Object; equals([C[C)Z",
    ),
    ("java/lang/ref/Reference", "get"),
    ("java/nio/Buffer", "checkIndex(I)I"),
    ("sun/misc/Unsafe", "getAndAddInt getAndAddLong getAndSetInt getAndSetLong getAndSetObject"),
    ("java/lang/invoke/MethodHandleImpl", "profileBoolean"),
    ("sun/nio/cs/ISO_8859_1$Encoder", "encodeISOArray"),
    (
        "java/math/BigInteger",
        "multiplyToLen implSquareToLen implMulAdd implMontgomeryMultiply implMontgomerySquare",
    ),
    ("com/sun/crypto/provider/AESCrypt", "implEncryptBlock implDecryptBlock"),
    ("com/sun/crypto/provider/CipherBlockChaining", "implEncrypt implDecrypt"),
    ("com/sun/crypto/provider/GHASH", "processBlocks"),
    ("sun/security/provider/SHA", "implCompress0"),
    ("sun/security/provider/SHA2", "implCompress0"),
    ("sun/security/provider/SHA5", "implCompress0"),
    ("sun/security/provider/DigestBase", "implCompressMultiBlock0"),
    // Not replaced, but called by the VM on the main thread when the program is about to begin, for each thread that
    // compiles: how many there are depends on the JIT.
    ("java/lang/Thread", "<init>(Ljava/lang/ThreadGroup;Ljava/lang/String;)V"),
];

/// Whether the JIT of JDK 8 replaces a method.
pub fn of_jdk_8(method: &Method<'_, '_>) -> bool {
    let class = method.class();
    if class.major_version() > JDK_8 {
        return false;
    }
    let listed = METHODS.iter().find(|(owner, _)| owner.as_bytes() == class.name());
    listed.is_some_and(|(_, methods)| {
        let named = |entry: &[u8]| match entry.strip_prefix(method.name()) {
            Some(descriptor) => descriptor.is_empty() || descriptor == method.descriptor(),
            None => false,
        };
        methods.split(' ').any(|entry| named(entry.as_bytes()))
    })
}
