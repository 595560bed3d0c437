/** Collects all problems of a request, so one answer names all of them. */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";

export interface Problem {
  /** Path of the field as the client wrote it, such as `input.0.content.1.image_url`. */
  readonly path: string;
  /** Text of the problem, with the limit that was exceeded, if any. */
  readonly message: string;
}

/** Maximum number of problems in an answer: a hostile body can have 200,000. */
const maxIssues = 20;

export class Problems {
  readonly #issues: Problem[] = [];
  #count = 0;
  /** Reason of the fault, set by the first problem. */
  #reason: FaultReason = FaultReason.INVALID_REQUEST;
  /** Receives the paths of ignored fields that no shape knows; undefined when no caller needs them. */
  readonly onIgnored: ((path: string) => void) | undefined;

  constructor(onIgnored?: (path: string) => void) {
    this.onIgnored = onIgnored;
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Adds a problem. @param reason of the fault, if this is the first problem
   * @returns undefined, for callers that return it in place of the field's value
   */
  add(path: string, message: string, reason: FaultReason = FaultReason.INVALID_REQUEST): undefined {
    if (this.#count === 0) this.#reason = reason;
    this.#count++;
    if (this.#issues.length < maxIssues) this.#issues.push({ path, message });
  }

  /**
   * @throws Fault with the first problem as its message and all problems in its metadata; the first problem sets the
   * reason
   */
  throwIfAny(): void {
    const [first] = this.#issues;
    if (!first) return;
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : "";
    const fault = new Fault(this.#reason, `${sentence(first)}${more}`, { origin: FaultOrigin.CLIENT });
    throw fault.with({ metadata: { error_type: fault.errorType, param: first.path, issues: this.#issues } });
  }
}

/** Runs checks, and throws if they have found problems. @throws Fault INVALID_REQUEST */
export function throwProblems(check: (problems: Problems) => void): void {
  const problems = new Problems();
  check(problems);
  problems.throwIfAny();
}

/** The problem as a sentence; its message may already begin with the path. */
const sentence = ({ path, message }: Problem): string =>
  message.startsWith(`${path} `) ? message : `${path}: ${message}`;

/** A fault with a single problem. */
export function invalid(path: string, message: string): Fault {
  return new Fault(FaultReason.INVALID_REQUEST, sentence({ path, message }), {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request", param: path, issues: [{ path, message }] },
  });
}
