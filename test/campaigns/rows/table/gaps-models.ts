/** Rows of tools that call another model. */
import type { Row } from "../row.ts";
import { pixel } from "../services.ts";
import { repliesWithCall, exampleFunction, expectOutput, requestWithServiceTool, requestWithTool } from "./asks.ts";

const functionsOnly = ["chat", "messages", "gemini", "converse"];

export const modelToolGaps: readonly Row[] = [
  {
    name: "2.5 tool service:subagent",
    cases: [
      {
        ask: requestWithServiceTool("subagent", { model: "t/other" }),
        says: repliesWithCall("service_subagent", { task_name: "Compare", task_description: "LSM?" }),
        otherSays: [{ text: "LSM wins" }],
        to: { other: /LSM\?/ },
        sent: /LSM wins/,
        back: expectOutput({ type: "service:subagent", outcome: "LSM wins" }),
      },
      {
        ask: requestWithServiceTool("subagent", { model: "t/other", tools: [{ type: "service:datetime" }] }),
        says: repliesWithCall("service_subagent", { task_name: "Date", task_description: "Which year?" }),
        otherSays: repliesWithCall("service_datetime"),
        to: { other: /"role":"tool"/ },
        sent: /Done/,
        back: expectOutput({ type: "service:subagent", status: "completed", outcome: "Done" }),
      },
      {
        ask: {
          tools: [
            { type: "service:subagent", parameters: { model: "t/other", inherit_functions: true } },
            exampleFunction,
          ],
          stream: true,
        },
        says: repliesWithCall("service_subagent", { task_name: "Compare", task_description: "LSM?" }),
        otherSays: repliesWithCall("f", {}),
        back: expectOutput({ type: "service:subagent", status: "in_progress" }, { type: "function_call", name: "f" }),
      },
    ],
  },
  {
    name: "2.5 tool image_generation",
    cases: [
      {
        ask: requestWithTool("image_generation", { size: "1024x1024" }),
        on: ["responses"],
        sent: { tools: [{ type: "image_generation" }] },
      },
      {
        ask: requestWithTool("image_generation", { size: "1024x1024" }),
        on: functionsOnly,
        says: repliesWithCall("image_generation", { prompt: "A cube" }),
        otherSays: [{ image: pixel }],
        to: { other: /A cube/ },
        back: expectOutput({ type: "image_generation_call", status: "completed" }),
      },
      { ask: requestWithTool("image_generation"), on: ["chat"], bare: true, refused: [400, /internal_models\.image/] },
    ],
  },
  {
    name: "2.5 tool service:image_generation",
    cases: [
      {
        ask: requestWithServiceTool("image_generation"),
        says: repliesWithCall("service_image_generation", { prompt: "A cube" }),
        otherSays: [{ image: pixel }],
        to: { other: /A cube/ },
        back: expectOutput({ type: "service:image_generation", status: "completed" }),
      },
    ],
  },
  {
    name: "2.5 tool service:advisor",
    cases: [
      {
        ask: requestWithServiceTool("advisor"),
        says: repliesWithCall("service_advisor", { prompt: "LSM?" }),
        otherSays: [{ text: "Take LSM" }],
        to: { other: /LSM\?/ },
        sent: /Take LSM/,
        back: expectOutput({ type: "service:advisor", advice: "Take LSM" }),
      },
      { ask: requestWithServiceTool("advisor"), on: ["chat"], bare: true, refused: [400, /internal_models\.advisor/] },
    ],
  },
];
