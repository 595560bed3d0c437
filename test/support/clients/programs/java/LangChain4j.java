import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.exception.ModelNotFoundException;
import dev.langchain4j.model.anthropic.AnthropicChatModel;
import dev.langchain4j.model.anthropic.AnthropicStreamingChatModel;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** LangChain4j, with its models for the formats of OpenAI and Anthropic. */
class LangChain4j extends Program {
  interface Assistant {
    String chat(String words);
  }

  public static class Weather {
    final List<String> seen = new ArrayList<>();

    @Tool("Weather")
    public String w(String town) {
      seen.add(town);
      return "clear sky";
    }
  }

  static ChatResponse fold(StreamingChatModel model, String words) throws Exception {
    var whole = new CompletableFuture<ChatResponse>();
    model.chat(words, new StreamingChatResponseHandler() {
      public void onPartialResponse(String part) {}

      public void onCompleteResponse(ChatResponse answer) {
        whole.complete(answer);
      }

      public void onError(Throwable failure) {
        whole.completeExceptionally(failure);
      }
    });
    return whole.get(30, TimeUnit.SECONDS);
  }

  static Map<String, Feature> features() {
    Map<String, Feature> all = new HashMap<>();
    define(all, "chat",
        name -> OpenAiChatModel.builder().baseUrl(BASE_URL).apiKey(API_KEY).modelName(name).maxRetries(0).build(),
        name -> OpenAiStreamingChatModel.builder().baseUrl(BASE_URL).apiKey(API_KEY).modelName(name).build());
    define(all, "messages",
        name -> AnthropicChatModel.builder().baseUrl(BASE_URL).apiKey(API_KEY).modelName(name).maxTokens(500).maxRetries(0).build(),
        name -> AnthropicStreamingChatModel.builder().baseUrl(BASE_URL).apiKey(API_KEY).modelName(name).maxTokens(500).build());
    Function<String, OpenAiEmbeddingModel> embedder =
        name -> OpenAiEmbeddingModel.builder().baseUrl(BASE_URL).apiKey(API_KEY).modelName(name).maxRetries(0).build();
    all.put("embeddings embeddings", () -> {
      var texts = List.of(TextSegment.from("a b"), TextSegment.from("c d"));
      var vectors = embedder.apply(EMBEDDER).embedAll(texts).content();
      same(vectors.stream().map(each -> each.vectorAsList()).toList(), List.of(List.of(0.5f, 1f), List.of(1.5f, 1f)));
    });
    all.put("embeddings errors", () -> raises(ModelNotFoundException.class, () -> embedder.apply("near/none").embed("x")));
    return all;
  }

  static void define(
      Map<String, Feature> all, String door, Function<String, ChatModel> model, Function<String, StreamingChatModel> streaming) {
    all.put(door + " text", () -> has(model.apply(ECHO).chat("Name a moon."), "Name a moon."));
    all.put(door + " stream", () -> {
      var answer = fold(streaming.apply(ECHO), "Count to three.");
      has(answer.aiMessage().text(), "Count to three.");
      same(answer.tokenUsage().outputTokenCount() > 0, true);
    });
    all.put(door + " tools", () ->
        has(AiServices.builder(Assistant.class).chatModel(model.apply(ECHO)).tools(new Weather()).build().chat("Weather in Oslo?"), "clear sky"));
    all.put(door + " parallel", () -> {
      var calls = fold(streaming.apply(FAR), "Weather?").aiMessage().toolExecutionRequests();
      same(calls.stream().map(call -> call.arguments().replace(" ", "")).toList(), List.of("{\"town\":\"Oslo\"}", "{\"town\":\"Rome\"}"));
    });
    all.put(door + " images", () -> {
      var question = UserMessage.from(ImageContent.from(PIXEL, "image/png"));
      same(model.apply(FAR).chat(question).aiMessage().text(), "A dot.");
    });
    all.put(door + " errors", () -> raises(ModelNotFoundException.class, () -> model.apply(UNKNOWN).chat("x")));
  }
}
