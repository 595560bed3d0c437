import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.errors.BadRequestException;
import com.openai.errors.NotFoundException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.*;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.*;
import java.util.*;
import java.util.stream.Collectors;

/** The SDK of OpenAI. */
class OpenAi extends Program {
  public static class Moon {
    public String name;
    public Planet planet;
  }

  public enum Planet {
    Mars,
    Jupiter
  }

  static OpenAIClient client(int retries) {
    return OpenAIOkHttpClient.builder().baseUrl(BASE_URL).apiKey(API_KEY).maxRetries(retries).build();
  }

  static ChatCompletionCreateParams.Builder ask(String model, String text) {
    return ChatCompletionCreateParams.builder().model(model).addUserMessage(text);
  }

  static ResponseCreateParams.Builder input(String model, String text) {
    return ResponseCreateParams.builder().model(model).input(text);
  }

  static final Map<String, Object> TOWN =
      Map.of("type", "object", "properties", Map.of("town", Map.of("type", "string")), "required", List.of("town"));

  static FunctionDefinition weather() {
    var parameters = FunctionParameters.builder();
    TOWN.forEach((name, value) -> parameters.putAdditionalProperty(name, JsonValue.from(value)));
    return FunctionDefinition.builder().name("w").description("Weather").parameters(parameters.build()).build();
  }

  static FunctionTool flatWeather() {
    var parameters = FunctionTool.Parameters.builder();
    TOWN.forEach((name, value) -> parameters.putAdditionalProperty(name, JsonValue.from(value)));
    return FunctionTool.builder().name("w").parameters(parameters.build()).strict(false).build();
  }

  static ChatCompletion fold(ChatCompletionCreateParams params) {
    var whole = ChatCompletionAccumulator.create();
    try (var stream = client(0).chat().completions().createStreaming(params)) {
      stream.stream().forEach(whole::accumulate);
    }
    return whole.chatCompletion().validate();
  }

  static Response folded(ResponseCreateParams params) {
    var whole = ResponseAccumulator.create();
    try (var stream = client(0).responses().createStreaming(params)) {
      stream.stream().forEach(whole::accumulate);
    }
    return whole.response();
  }

  static String textOf(ChatCompletion answer) {
    return answer.choices().get(0).message().content().orElse("");
  }

  static String textOf(Response answer) {
    return answer.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(part -> part.outputText().stream())
        .map(ResponseOutputText::text)
        .collect(Collectors.joining());
  }

  static List<String> argumentsOf(ChatCompletion answer) {
    return answer.choices().get(0).message().toolCalls().get().stream()
        .map(call -> call.asFunction().function().arguments())
        .toList();
  }

  static Map<String, Feature> features() {
    Map<String, Feature> all = new HashMap<>();
    chat(all);
    responses(all);
    all.put("embeddings embeddings", () -> {
      var params = EmbeddingCreateParams.builder().model(EMBEDDER).inputOfArrayOfStrings(List.of("a b", "c d"));
      var vectors = client(0).embeddings().create(params.build()).data();
      same(vectors.stream().map(each -> each.embedding()).toList(), List.of(List.of(0.5f, 1f), List.of(1.5f, 1f)));
    });
    all.put("embeddings errors", () -> {
      var params = EmbeddingCreateParams.builder().model("near/none").input("x").build();
      raises(NotFoundException.class, () -> client(0).embeddings().create(params));
    });
    return all;
  }

  static void chat(Map<String, Feature> all) {
    all.put("chat text", () -> {
      var answer = client(0).chat().completions().create(ask(ECHO, "Name a moon.").build());
      has(textOf(answer.validate()), "Name a moon.");
    });
    all.put("chat stream", () -> {
      for (boolean wanted : new boolean[] {false, true}) {
        var params = ask(ECHO, "Count to three.");
        if (wanted) params.streamOptions(ChatCompletionStreamOptions.builder().includeUsage(true).build());
        var whole = fold(params.build());
        has(textOf(whole), "Count to three.");
        same(whole.choices().get(0).finishReason(), ChatCompletion.Choice.FinishReason.STOP);
        same(whole.usage().get().completionTokens() > 0, true);
      }
    });
    all.put("chat tools", () -> {
      var params = ask(ECHO, "Weather in Oslo?").addFunctionTool(weather());
      var first = client(0).chat().completions().create(params.build()).choices().get(0).message();
      var id = first.toolCalls().get().get(0).asFunction().id();
      params.addMessage(first);
      params.addMessage(ChatCompletionToolMessageParam.builder().toolCallId(id).content("clear sky").build());
      has(textOf(client(0).chat().completions().create(params.build())), "clear sky");
    });
    all.put("chat parallel", () -> {
      var whole = fold(ask(FAR, "Weather?").addFunctionTool(weather()).build());
      same(argumentsOf(whole), List.of("{\"town\":\"Oslo\"}", "{\"town\":\"Rome\"}"));
    });
    all.put("chat structured", () -> {
      var answer = client(0).chat().completions().create(ask(ECHO, "A moon?").responseFormat(Moon.class).build());
      same(answer.choices().get(0).message().content().get().planet, Planet.Mars);
    });
    all.put("chat images", () -> {
      var url = ChatCompletionContentPartImage.ImageUrl.builder().url("data:image/png;base64," + PIXEL).build();
      var picture = ChatCompletionContentPartImage.builder().imageUrl(url).build();
      var params = ChatCompletionCreateParams.builder()
          .model(FAR)
          .addUserMessageOfArrayOfContentParts(List.of(ChatCompletionContentPart.ofImageUrl(picture)));
      same(textOf(client(0).chat().completions().create(params.build())), "A dot.");
    });
    all.put("chat errors", () -> {
      var unknown = raises(NotFoundException.class, () -> client(0).chat().completions().create(ask(UNKNOWN, "x").build()));
      same(unknown.type(), Optional.of("invalid_request_error"));
      var hot = ask(ECHO, "x").temperature(3).build();
      same(raises(BadRequestException.class, () -> client(0).chat().completions().create(hot)).param(), Optional.of("temperature"));
    });
    all.put("chat abort", () -> {
      try (var stream = client(0).chat().completions().createStreaming(ask(FAR, "x").build())) {
        stream.stream().anyMatch(chunk -> !chunk.choices().get(0).delta().content().orElse("").isEmpty());
      }
    });
    all.put("chat retries", () -> same(textOf(client(2).chat().completions().create(ask(FAR, "x").build())), "Now."));
  }

  static void responses(Map<String, Feature> all) {
    all.put("responses text", () -> has(textOf(client(0).responses().create(input(ECHO, "Name a moon.").build()).validate()), "Name a moon."));
    all.put("responses stream", () -> {
      var whole = folded(input(ECHO, "Count to three.").build());
      has(textOf(whole), "Count to three.");
      same(whole.usage().get().outputTokens() > 0, true);
    });
    all.put("responses tools", () -> {
      var question = ResponseInputItem.ofEasyInputMessage(
          EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content("Weather in Oslo?").build());
      var items = new ArrayList<>(List.of(question));
      var params = ResponseCreateParams.builder().model(ECHO).addTool(flatWeather());
      var call = client(0).responses().create(params.inputOfResponse(items).build()).output().get(0).asFunctionCall();
      items.add(ResponseInputItem.ofFunctionCall(call));
      items.add(ResponseInputItem.ofFunctionCallOutput(
          ResponseInputItem.FunctionCallOutput.builder().callId(call.callId()).output("clear sky").build()));
      has(textOf(client(0).responses().create(params.inputOfResponse(items).build())), "clear sky");
    });
    all.put("responses parallel", () -> {
      var whole = folded(input(FAR, "Weather?").addTool(flatWeather()).build());
      var calls = whole.output().stream().map(item -> item.asFunctionCall().arguments()).toList();
      same(calls, List.of("{\"town\":\"Oslo\"}", "{\"town\":\"Rome\"}"));
    });
    all.put("responses structured", () -> {
      var answer = client(0).responses().create(input(ECHO, "A moon?").text(Moon.class).build());
      same(answer.output().get(0).asMessage().content().get(0).asOutputText().planet, Planet.Mars);
    });
    all.put("responses images", () -> {
      var image = ResponseInputImage.builder().detail(ResponseInputImage.Detail.AUTO).imageUrl("data:image/png;base64," + PIXEL);
      var message = ResponseInputItem.Message.builder()
          .role(ResponseInputItem.Message.Role.USER)
          .addContent(image.build());
      var params = ResponseCreateParams.builder().model(FAR).inputOfResponse(List.of(ResponseInputItem.ofMessage(message.build())));
      same(textOf(client(0).responses().create(params.build())), "A dot.");
    });
    all.put("responses thinking", () -> {
      var answer = client(0).responses().create(input(FAR, "Think.").build());
      same(answer.output().get(0).isReasoning(), true);
      same(textOf(answer), "Yes.");
    });
    all.put("responses errors", () ->
        raises(NotFoundException.class, () -> client(0).responses().create(input(UNKNOWN, "x").build())));
    all.put("responses abort", () -> {
      try (var stream = client(0).responses().createStreaming(input(FAR, "x").build())) {
        stream.stream().anyMatch(event -> event.isOutputTextDelta());
      }
    });
    all.put("responses retries", () -> same(textOf(client(2).responses().create(input(FAR, "x").build())), "Now."));
  }
}
