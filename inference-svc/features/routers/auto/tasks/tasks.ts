/** Kinds of tasks, and the catalogue scores by which models are ranked for each. */

/**
 * Scores of the catalogue by which models are ranked for each task, the most significant first; `general` is used when
 * a model has none of them.
 */
const scoresOf = {
  /** Writing, explaining and fixing code that is in the request. */
  code: ["coding"],
  /** Writing code with tools that edit files or run commands. */
  code_agent: ["agentic", "coding"],
  /** Other work with tools, and plans for it. */
  agent: ["agentic"],
  /** Mathematics and logic. */
  math: ["math"],
  /** Facts, science, law, medicine and reports about them. */
  knowledge: ["knowledge"],
  /** Questions about a given text, its summary, data extraction or classification. */
  document: [],
  translate: ["writing"],
  /** Stories, letters, ideas and rewording. */
  write: ["writing"],
  chat: [],
  vision: ["vision"],
  /** Requests that resemble no other task. */
  other: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Task = keyof typeof scoresOf;

/** The tasks in the order of the trained weights, which must therefore never change. */
export const trainedTasks: readonly Task[] = (Object.keys(scoresOf) as Task[]).filter((task) => task !== "other");

/** The model's score for a task; undefined when it has none. @param scores the model's scores by name, all on the same scale */
export function scoreFor(task: Task, scores: Readonly<Record<string, number>> | undefined): number | undefined {
  const name = [...scoresOf[task], "general"].find((each) => scores?.[each] !== undefined);
  return name === undefined ? undefined : scores?.[name];
}
