/** Adapts models of version 3 of the AI SDK interface to version 4, which differs in files and in reasoning. */
import type {
  LanguageModelV3,
  LanguageModelV3FilePart,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

export const fromVersion3 = (model: LanguageModelV3): LanguageModelV4 => ({
  specificationVersion: "v4",
  provider: model.provider,
  modelId: model.modelId,
  supportedUrls: model.supportedUrls,
  doGenerate: () => Promise.reject(new Error("every call is a stream")),
  async doStream(callOptions: LanguageModelV4CallOptions) {
    const { reasoning: _, ...options } = callOptions;
    const result = await model.doStream({ ...options, prompt: promptOf(options.prompt) });
    return { ...result, stream: result.stream.pipeThrough(new TransformStream({ transform: convert })) };
  },
});

/** Converts a prompt to version 3. Of the parts Sluice builds, only files differ between the versions. */
const promptOf = (prompt: LanguageModelV4Prompt): LanguageModelV3Prompt =>
  prompt.map((message) =>
    message.role === "user"
      ? { ...message, content: message.content.map((part) => (part.type === "file" ? fileOf(part) : part)) }
      : message,
  ) as LanguageModelV3Prompt;

const fileOf = ({ data, ...part }: LanguageModelV4FilePart): LanguageModelV3FilePart => ({
  ...part,
  data: data.type === "data" ? data.data : "",
});

type Controller = TransformStreamDefaultController<LanguageModelV4StreamPart>;

function convert(part: LanguageModelV3StreamPart, controller: Controller): void {
  if (part.type !== "file") return controller.enqueue(part);
  controller.enqueue({ ...part, data: { type: "data", data: part.data } });
}
