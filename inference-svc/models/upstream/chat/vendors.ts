/**
 * Roles, parts and reasoning fields servers of known vendors take in chat completions, and most other servers do not.
 * Each row has its source: a page of the vendor, or requests of 2026 that its server answered with 200.
 */
import type { Target } from "../dialect.ts";

export interface ChatVendor {
  /** Whether the vendor's API knows the role `developer`. Other vendors only know `system`. */
  readonly takesDevelopers?: true;
  /** Whether the result of a tool may hold pictures and files. Other vendors take them only in a user message. */
  readonly takesMediaInResults?: true;
  /** Type of the part for a document, which may be given by URL; absent if documents are parts of type `file`. */
  readonly document?: "document_url" | "file_url";
  /**
   * Field of an assistant message for earlier reasoning; absent if such fields are refused or unknown.
   * `reasoning_details` takes encrypted reasoning of every format; reasoning that is not encrypted then has the field
   * `reasoning`.
   */
  readonly thought?: "reasoning_content" | "message.reasoning" | "message.thinking" | "reasoning_details";
}

const rows: Readonly<Record<string, ChatVendor>> = {
  // For "deepseek-reasoner" and its successors, in the middle of a task
  // (https://api-docs.deepseek.com/guides/thinking_mode).
  deepseek: { thought: "reasoning_content" },
  // Source: https://docs.fireworks.ai/guides/reasoning
  fireworks: { thought: "reasoning_content" },
  // Source: https://console.groq.com/docs/reasoning
  groq: { thought: "message.reasoning" },
  // Source: https://docs.mistral.ai/capabilities/document_ai/document_qna and
  // https://docs.mistral.ai/capabilities/reasoning
  mistral: { takesMediaInResults: true, document: "document_url", thought: "message.thinking" },
  // Source: https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model
  moonshotai: { thought: "reasoning_content" },
  // OpenRouter translates requests for the provider behind it (https://openrouter.ai/docs/api-reference/overview).
  openrouter: { takesDevelopers: true, takesMediaInResults: true, thought: "reasoning_details" },
  // Source: https://docs.perplexity.ai/guides/file-attachments
  perplexity: { document: "file_url" },
};

const none: ChatVendor = {};

export const chatVendor = ({ vendor = "" }: Pick<Target, "vendor">): ChatVendor =>
  Object.hasOwn(rows, vendor) ? rows[vendor]! : none;
