/** Kinds of tasks, and by which scores of the catalogue models are ranked for them. */

/** By the scores that say how well a model does at them, the most telling first; who has none of these counts by `general`. */
const scoresOf = {
  "code:generate": ["coding"],
  "code:debug": ["coding"],
  "code:refactor": ["coding"],
  "code:review": ["coding"],
  "code:explain": ["coding"],
  "code:test": ["coding"],
  "code:sql": ["coding"],
  "code:shell": ["coding"],
  "code:frontend": ["coding"],
  "code:data": ["coding"],
  "agent:tool_use": ["agentic"],
  "agent:planning": ["agentic"],
  "agent:browse": ["agentic"],
  "agent:coding_loop": ["agentic", "coding"],
  math: ["math"],
  logic: ["math"],
  science: ["knowledge"],
  qa_knowledge: ["knowledge"],
  qa_context: [],
  summarise: [],
  extract: [],
  classify: [],
  translate: ["writing"],
  rewrite: ["writing"],
  write_creative: ["writing"],
  write_business: ["writing"],
  brainstorm: ["writing"],
  chat: [],
  roleplay: ["writing"],
  support: [],
  research_report: ["knowledge"],
  legal_medical: ["knowledge"],
  vision: ["vision"],
  /** What is like none of them. */
  other: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Task = keyof typeof scoresOf;

/** In an order that never changes: weights stand in it. */
export const trainedTasks: readonly Task[] = (Object.keys(scoresOf) as Task[]).filter((task) => task !== "other");

/** Of a model, for a task; undefined where the operator says nothing that tells. @param scores by name, all on one scale */
export function scoreFor(task: Task, scores: Readonly<Record<string, number>> | undefined): number | undefined {
  const name = [...scoresOf[task], "general"].find((each) => scores?.[each] !== undefined);
  return name === undefined ? undefined : scores?.[name];
}
