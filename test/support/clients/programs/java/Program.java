import java.util.Map;
import java.util.Scanner;

/** Runs one client: reads a line {@code door feature} from stdin, runs that feature of the client, and writes one line of JSON with its outcome. */
public class Program {
  interface Feature {
    void run() throws Exception;
  }

  static final String BASE_URL = System.getenv("SLUICE_BASE_URL");
  static final String API_KEY = System.getenv("SLUICE_API_KEY");
  static final String ECHO = "sluice/echo";
  static final String FAR = "far/model";
  static final String EMBEDDER = "far/embed";
  static final String UNKNOWN = "nobody/nothing";
  static final String PIXEL =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  public static void main(String[] arguments) {
    Map<String, Feature> client =
        switch (arguments[0]) {
          case "openai" -> OpenAi.features();
          case "anthropic" -> Anthropic.features();
          default -> LangChain4j.features();
        };
    System.out.println("{\"ready\":true}");
    Scanner lines = new Scanner(System.in);
    while (lines.hasNextLine()) System.out.println(outcomeOf(client.get(lines.nextLine())));
    System.exit(0);
  }

  static String outcomeOf(Feature feature) {
    try {
      feature.run();
      return "{\"passed\":true}";
    } catch (Throwable failure) {
      StringBuilder text = new StringBuilder(String.valueOf(failure));
      for (StackTraceElement frame : failure.getStackTrace()) text.append(" < ").append(frame);
      String safe = text.toString().replaceAll("[\\\\\"\\p{Cntrl}]", "'");
      return "{\"passed\":false,\"error\":\"" + safe.substring(0, Math.min(3000, safe.length())) + "\"}";
    }
  }

  static void has(String text, String part) {
    if (text == null || !text.contains(part)) throw new AssertionError(text + " has no " + part);
  }

  static void same(Object seen, Object expected) {
    if (!expected.equals(seen)) throw new AssertionError(seen + " is not " + expected);
  }

  static <E extends Throwable> E raises(Class<E> kind, Feature feature) {
    try {
      feature.run();
    } catch (Throwable failure) {
      for (Throwable each = failure; each != null; each = each.getCause()) if (kind.isInstance(each)) return kind.cast(each);
      throw new AssertionError("another failure: " + failure);
    }
    throw new AssertionError("no " + kind);
  }
}
