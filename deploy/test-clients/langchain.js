/** LangChain in its previous major version, with the core package that it needs. */
export { ChatAnthropic } from "@langchain/anthropic";
export { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
export { HumanMessage, ToolMessage } from "@langchain/core/messages";
export { tool } from "@langchain/core/tools";
export { z } from "zod";
