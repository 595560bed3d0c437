/** The parts of an error that are logged: its type and stack, and its message unless it may quote user data. */

export interface LoggedError {
  readonly type: string;
  /** Error code of the operating system, the database or a library. */
  readonly code?: string | number;
  readonly message: string;
  /** Stack frames, without the message at the head of a stack trace. */
  readonly stack?: string;
  readonly cause?: LoggedError;
}

const longest = 1_024;
const maxFrames = 10;
/** Maximum number of logged causes, because a chain of causes may be circular. */
const maxCauses = 4;

/**
 * Selects the logged parts of an error. All other properties are left out, such as bodies, headers and database rows.
 */
export function loggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: redact(String(error)).slice(0, longest) };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    ...((typeof code === "string" || typeof code === "number") && { code }),
    message: wordsOf(error),
    ...framesOf(error),
    ...(error.cause !== undefined && depth + 1 < maxCauses && { cause: loggedError(error.cause, depth + 1) }),
  };
}

function framesOf({ stack }: Error): { readonly stack?: string } {
  const frames = (stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return frames.length === 0 ? {} : { stack: frames.slice(0, maxFrames).join("\n") };
}

/** Whether an error may quote unreadable input, such as a prompt, an answer or a database row. */
const quotes = (error: Error): boolean =>
  error instanceof SyntaxError || error.name === "ZodError" || error.name.startsWith("AI_") || isOfData(error);

/** Whether the database has refused a value (SQLSTATE classes 22 and 23), which its error text quotes. */
function isOfData(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return "severity" in error && typeof code === "string" && /^2[23]/.test(code);
}

const wordsOf = (error: Error): string =>
  quotes(error) ? "(left out, as it may quote)" : redact(error.message).slice(0, longest);

const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+[^\s"',]+/gi, "$1 …"],
  // Prefixes of API keys of Sluice, of model providers and of other platforms.
  [/\b((?:sk|mk|pk|rk)[-_]|xai-|gsk_|hf_|gh[pousr]_|AIza|AKIA|ASIA)[\w-]{8,}/g, "$1…"],
  [/\/\/[^/\s@]+@/g, "//…@"],
  [/([?&](?:[\w-]*(?:key|token|secret|signature|password)|sig|X-Amz-[\w-]+)=)[^&\s"']+/gi, "$1…"],
];

/** Replaces everything in a text that looks like a secret. */
export const redact = (text: string): string =>
  secrets.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text);
