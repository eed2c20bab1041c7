//: name = "jython"
//: about = "Jython: objects, closures, dictionaries, strings and recursion in a fixed Python script"
//: maven = ["org.python:jython-standalone:2.7.4"]
//: package = "org.python"
//: warmup = 14
//: steady = 8
//: quick = { warmup = 8, steady = 4 }
//: jvm = ["-Xms1g", "-Xmx1g", "-Dpython.import.site=false", "-Dpython.cachedir.skip=true"]
package bench;

import java.util.Properties;
import org.python.core.PyFunction;
import org.python.util.PythonInterpreter;

public final class Jython {
    private static final String SCRIPT = """
            class Task(object):
                def __init__(self, ident, priority):
                    self.ident = ident
                    self.priority = priority
                    self.work = []
                    self.done = 0
                def step(self, queue):
                    if not self.work:
                        return None
                    item = self.work.pop()
                    self.done += item
                    if item > 1:
                        queue[(self.ident + item) % len(queue)].work.append(item // 2)
                    return item

            class Urgent(Task):
                def step(self, queue):
                    return Task.step(self, queue) or 0

            def schedule(n):
                queue = [(Urgent if i % 3 == 0 else Task)(i, i % 5) for i in range(n)]
                for t in queue:
                    t.work = [(t.ident * 7 + k) % 31 + 1 for k in range(20)]
                moved = True
                while moved:
                    moved = False
                    for t in sorted(queue, key=lambda t: (t.priority, t.ident)):
                        if t.step(queue):
                            moved = True
                return sum(t.done for t in queue)

            def fib(n):
                return n if n < 2 else fib(n - 1) + fib(n - 2)

            def words(n):
                counts = {}
                for i in xrange(n):
                    w = 'w%d' % ((i * i) % 331)
                    counts[w] = counts.get(w, 0) + 1
                text = ' '.join('%s=%d' % (k, counts[k]) for k in sorted(counts))
                total = 0
                for part in text.split(' '):
                    k, v = part.split('=')
                    total += len(k) * int(v)
                return total

            def sieve(n):
                flags = [True] * n
                for i in xrange(2, n):
                    if flags[i]:
                        for j in xrange(i * i, n, i):
                            flags[j] = False
                return sum(1 for i in xrange(2, n) if flags[i])

            def careful(n):
                caught = 0
                for i in xrange(n):
                    try:
                        if i % 3 == 0:
                            raise ValueError(i)
                        caught += {1: 1}[i % 2]
                    except (ValueError, KeyError), e:
                        caught += 2
                return caught

            def permutations(items):
                if not items:
                    yield []
                for i in range(len(items)):
                    for rest in permutations(items[:i] + items[i + 1:]):
                        yield [items[i]] + rest

            def work():
                total = schedule(60)
                total = total * 31 + fib(19)
                total = total * 31 + words(20000)
                total = total * 31 + sieve(40000)
                total = total * 31 + careful(8000)
                total = total * 31 + sum(p[0] * p[-1] for p in permutations([1, 2, 3, 4, 5, 6]))
                return total
            """;

    public static void main(String[] args) throws Exception {
        PythonInterpreter.initialize(System.getProperties(), new Properties(), new String[0]);
        try (PythonInterpreter python = new PythonInterpreter()) {
            python.exec(SCRIPT);
            PyFunction work = (PyFunction) python.get("work");
            Bench.run(() -> work.__call__().asLong());
        }
    }
}
