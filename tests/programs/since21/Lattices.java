import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.util.Arrays;
import javax.crypto.KEM;

/** The same for what newer releases have: keys made of lattices. */
public final class Lattices {
    public static void main(String[] arguments) throws Exception {
        if (Runtime.version().feature() < 24) {
            return;
        }
        int rounds = Integer.parseInt(arguments[0]);
        for (int i = 0; i < rounds; i++) {
            KeyPair pair = pair("ML-DSA-44");
            Signature signature = Signature.getInstance("ML-DSA-44");
            signature.initSign(pair.getPrivate(), new Intrinsics.Fixed());
            signature.update(Intrinsics.bytes(100, i));
            byte[] signed = signature.sign();
            signature.initVerify(pair.getPublic());
            signature.update(Intrinsics.bytes(100, i));
            check(signature.verify(signed));
            pair = pair("ML-KEM-512");
            KEM.Encapsulated sent =
                    KEM.getInstance("ML-KEM").newEncapsulator(pair.getPublic(), new Intrinsics.Fixed()).encapsulate();
            byte[] key = KEM.getInstance("ML-KEM").newDecapsulator(pair.getPrivate()).decapsulate(sent.encapsulation()).getEncoded();
            check(Arrays.equals(key, sent.key().getEncoded()));
        }
    }

    private static KeyPair pair(String name) throws Exception {
        KeyPairGenerator generator = KeyPairGenerator.getInstance(name);
        generator.initialize(-1, new Intrinsics.Fixed());
        return generator.generateKeyPair();
    }

    private static void check(boolean right) {
        if (!right) {
            throw new AssertionError();
        }
    }
}
