//: name = "tomcat"
//: about = "Tomcat on the loopback interface: four clients, a filter, a servlet, gzip, forms and redirects"
//: maven = ["org.apache.tomcat.embed:tomcat-embed-core:10.1.34"]
//: package = "org.apache"
//: warmup = 16
//: steady = 8
//: quick = { warmup = 8, steady = 4 }
//: jvm = ["-Xms1g", "-Xmx1g", "-Djava.util.logging.config.class=bench.Tomcat$Silence"]
package bench;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;

public final class Tomcat {
    private static final int CLIENTS = 4;
    private static final int REQUESTS = 1_500;

    /** Logging is not what is measured. */
    public static final class Silence {
        public Silence() {
            Logger.getLogger("").setLevel(Level.OFF);
        }
    }

    public static void main(String[] args) throws Exception {
        Path place = Files.createTempDirectory("quipu-tomcat");
        org.apache.catalina.startup.Tomcat tomcat = new org.apache.catalina.startup.Tomcat();
        tomcat.setBaseDir(place.toString());
        Connector connector = new Connector("HTTP/1.1");
        connector.setPort(0);
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("compression", "force");
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("minSpareThreads", String.valueOf(CLIENTS));
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", place.toString());
        org.apache.catalina.startup.Tomcat.addServlet(context, "shop", new Shop());
        context.addServletMappingDecoded("/shop/*", "shop");
        FilterDef filter = new FilterDef();
        filter.setFilterName("visitor");
        filter.setFilter(new Visitor());
        context.addFilterDef(filter);
        FilterMap everywhere = new FilterMap();
        everywhere.setFilterName("visitor");
        everywhere.addURLPattern("/*");
        context.addFilterMap(everywhere);
        tomcat.start();
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        try {
            int port = connector.getLocalPort();
            Bench.run(() -> iteration(clients, port));
        } finally {
            clients.shutdown();
            tomcat.stop();
            tomcat.destroy();
        }
    }

    private static long iteration(ExecutorService clients, int port) throws Exception {
        List<Callable<Long>> work = new ArrayList<>();
        for (int c = 0; c < CLIENTS; c++) {
            int client = c;
            work.add(() -> visit(client, port));
        }
        long sum = 0;
        for (Future<Long> one : clients.invokeAll(work)) {
            sum = Bench.mix(sum, one.get());
        }
        return sum;
    }

    private static long visit(int client, int port) throws IOException {
        Dice dice = new Dice(100 + client);
        long sum = 0;
        try (Socket socket = new Socket(InetAddress.getByName("127.0.0.1"), port)) {
            socket.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(socket.getInputStream());
            OutputStream out = new BufferedOutputStream(socket.getOutputStream());
            for (int i = 0; i < REQUESTS; i++) {
                boolean form = i % 5 == 0;
                String query = "item=" + dice.word(500) + "&count=" + (1 + dice.below(20)) + "&text=%C3%A9+" + dice.word(90);
                String head = (form ? "POST /shop/order" : "GET /shop/list?" + query) + " HTTP/1.1\r\nHost: localhost\r\n"
                        + "Cookie: visitor=" + client + "-" + i % 7 + "; theme=dark\r\nAccept: text/html,*/*;q=0.8\r\n"
                        + (i % 10 == 3 ? "Accept-Encoding: gzip\r\n" : "")
                        + (form ? "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " + query.length() + "\r\n" : "")
                        + "\r\n" + (form ? query : "");
                out.write(head.getBytes(StandardCharsets.ISO_8859_1));
                out.flush();
                sum = Bench.mix(sum, answer(in, i % 10 == 3));
            }
        }
        return sum;
    }

    /** The checksum of one answer: its status and its body. What gzip makes of a body depends on the JDK. */
    private static long answer(InputStream in, boolean packed) throws IOException {
        String status = line(in);
        int length = 0;
        boolean chunked = false;
        for (String header = line(in); !header.isEmpty(); header = line(in)) {
            String lower = header.toLowerCase();
            if (lower.startsWith("content-length:")) {
                length = Integer.parseInt(lower.substring(15).trim());
            }
            chunked |= lower.startsWith("transfer-encoding:") && lower.contains("chunked");
        }
        long sum = Bench.mix(0, status);
        if (!chunked) {
            return Bench.mix(sum, new String(in.readNBytes(length), StandardCharsets.UTF_8));
        }
        StringBuilder body = new StringBuilder();
        for (int size = size(in); ; size = size(in)) {
            body.append(new String(in.readNBytes(size), StandardCharsets.ISO_8859_1));
            line(in);
            if (size == 0) {
                return packed ? sum : Bench.mix(sum, body.toString());
            }
        }
    }

    private static int size(InputStream in) throws IOException {
        return Integer.parseInt(line(in).trim(), 16);
    }

    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new IOException("the server hung up");
            }
            if (c != '\r') {
                line.append((char) c);
            }
        }
        return line.toString();
    }

    /** Finds out who visits, and says so in a header. */
    static final class Visitor extends HttpFilter {
        @Override
        protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            for (Cookie cookie : request.getCookies()) {
                if (cookie.getName().equals("visitor")) {
                    request.setAttribute("visitor", cookie.getValue());
                    response.setHeader("X-Visitor", cookie.getValue());
                }
            }
            chain.doFilter(request, response);
        }
    }

    /** A page with a list, or a redirect after an order. */
    static final class Shop extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setContentType("text/html");
            response.setCharacterEncoding("UTF-8");
            PrintWriter page = response.getWriter();
            String item = request.getParameter("item");
            int count = Integer.parseInt(request.getParameter("count"));
            page.print("<html><h1>" + item + " for " + request.getAttribute("visitor") + "</h1><table>");
            Map<Integer, String> rows = new TreeMap<>();
            for (int i = 0; i < count; i++) {
                rows.put(item.hashCode() * (i + 31) % 1000, request.getParameter("text") + i);
            }
            rows.forEach((price, text) -> page.printf("<tr><td>%d</td><td>%s</td></tr>%n", price, text));
            page.print("</table></html>");
        }

        @Override
        protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setStatus(303);
            response.setHeader("Location", "/shop/list?item=" + request.getParameter("item"));
            response.getWriter().print(request.getParameterMap().size() + " " + request.getParameter("text"));
        }
    }
}
