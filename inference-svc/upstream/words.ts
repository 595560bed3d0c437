/** What all pieces of a body need to know: who is told, which tools there are, and where to note what is left unsaid. */
import type { Lose, Target } from "./dialect.ts";
import type { SentTools } from "./tool-names.ts";

export interface Words {
  readonly target: Target;
  readonly tools: SentTools;
  readonly lose: Lose;
}

/** Whether the operator says that the endpoint knows the parameter: for those that most servers answer 400 to. */
export const supports = ({ supportedParameters }: Target, parameter: string): boolean =>
  supportedParameters?.includes(parameter) ?? false;
