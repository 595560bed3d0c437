import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.errors.NotFoundException;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.*;
import java.util.*;
import java.util.stream.Collectors;

/** The SDK of Anthropic. */
class Anthropic extends Program {
  static AnthropicClient client(int retries) {
    // The SDK adds /v1 by itself.
    String url = BASE_URL.replaceFirst("/v1$", "");
    return AnthropicOkHttpClient.builder().baseUrl(url).apiKey(API_KEY).maxRetries(retries).build();
  }

  static MessageCreateParams.Builder ask(String model, String text) {
    return MessageCreateParams.builder().model(model).maxTokens(500).addUserMessage(text);
  }

  static Tool weather() {
    var properties = Tool.InputSchema.Properties.builder().putAdditionalProperty("town", JsonValue.from(Map.of("type", "string")));
    var schema = Tool.InputSchema.builder().properties(properties.build()).required(List.of("town")).build();
    return Tool.builder().name("w").description("Weather").inputSchema(schema).build();
  }

  static Message fold(MessageCreateParams params) {
    var whole = MessageAccumulator.create();
    try (var stream = client(0).messages().createStreaming(params)) {
      stream.stream().forEach(whole::accumulate);
    }
    return whole.message();
  }

  static String textOf(Message answer) {
    return answer.content().stream().flatMap(block -> block.text().stream()).map(TextBlock::text).collect(Collectors.joining());
  }

  static Map<String, Feature> features() {
    Map<String, Feature> all = new HashMap<>();
    all.put("messages text", () -> has(textOf(client(0).messages().create(ask(ECHO, "Name a moon.").build()).validate()), "Name a moon."));
    all.put("messages stream", () -> {
      var whole = fold(ask(ECHO, "Count to three.").build());
      has(textOf(whole), "Count to three.");
      same(whole.usage().outputTokens() > 0, true);
    });
    all.put("messages tools", () -> {
      var params = ask(ECHO, "Weather in Oslo?").addTool(weather());
      var first = client(0).messages().create(params.build());
      var call = first.content().stream().flatMap(block -> block.toolUse().stream()).findFirst().get();
      var result = ToolResultBlockParam.builder().toolUseId(call.id()).content("clear sky").build();
      params.addMessage(first).addUserMessageOfContentBlockParams(List.of(ContentBlockParam.ofToolResult(result)));
      has(textOf(client(0).messages().create(params.build())), "clear sky");
    });
    all.put("messages parallel", () -> {
      var whole = fold(ask(FAR, "Weather?").addTool(weather()).build());
      var towns = whole.content().stream().map(block -> block.asToolUse()._input().toString()).toList();
      same(towns, List.of("{town=Oslo}", "{town=Rome}"));
    });
    all.put("messages images", () -> {
      var source = Base64ImageSource.builder().mediaType(Base64ImageSource.MediaType.IMAGE_PNG).data(PIXEL).build();
      var picture = ContentBlockParam.ofImage(ImageBlockParam.builder().source(source).build());
      var params = MessageCreateParams.builder().model(FAR).maxTokens(500).addUserMessageOfContentBlockParams(List.of(picture));
      same(textOf(client(0).messages().create(params.build())), "A dot.");
    });
    all.put("messages thinking", () -> {
      var answer = fold(ask(FAR, "Think.").build());
      same(answer.content().get(0).asThinking().thinking(), "Hm.");
      same(textOf(answer), "Yes.");
    });
    all.put("messages errors", () ->
        raises(NotFoundException.class, () -> client(0).messages().create(ask(UNKNOWN, "x").build())));
    all.put("messages abort", () -> {
      try (var stream = client(0).messages().createStreaming(ask(FAR, "x").build())) {
        stream.stream().anyMatch(event -> event.isContentBlockDelta());
      }
    });
    all.put("messages retries", () -> same(textOf(client(2).messages().create(ask(FAR, "x").build())), "Now."));
    return all;
  }
}
