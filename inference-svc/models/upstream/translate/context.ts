/** The context in which a request is translated: the target, the tools as they are sent, and a callback for dropped fields. */
import type { OnDropped, Target } from "../dialect.ts";
import type { SentTools } from "./names/tool-names.ts";

export interface TranslationContext {
  readonly target: Target;
  readonly tools: SentTools;
  readonly onDropped: OnDropped;
}

/** Whether `supported_parameters` or `passes` names the parameter; for parameters to which most servers answer 400. */
export const supportsParameter = ({ supportedParameters, passes }: Target, parameter: string): boolean =>
  supportedParameters?.includes(parameter) === true || passes?.has(parameter) === true;
