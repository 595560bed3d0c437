/** The newest OpenRouter provider of the AI SDK, with the AI SDK that it needs. */
export { createOpenRouter } from "@openrouter/ai-sdk-provider";
export * as ai from "ai";
