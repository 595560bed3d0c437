/** Everything that is wrong with a request, collected so that one answer names all of it. */
import { Fault, FaultOrigin, FaultReason } from "../fault.ts";

export interface Problem {
  /** Where, as the client wrote it: `input.0.content.1.image_url`. */
  readonly path: string;
  /** What, naming the limit. */
  readonly message: string;
}

/** A hostile body can be wrong in 200,000 places; nobody reads more than these. */
const maxIssues = 20;

export class Problems {
  readonly #issues: Problem[] = [];
  #count = 0;
  /** Of the first problem. */
  #reason: FaultReason = FaultReason.INVALID_REQUEST;

  get empty(): boolean {
    return this.#count === 0;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * @param reason of the fault, when this is the first problem
   * @returns undefined, the value of what has a problem
   */
  add(path: string, message: string, reason: FaultReason = FaultReason.INVALID_REQUEST): undefined {
    if (this.#count === 0) this.#reason = reason;
    this.#count++;
    if (this.#issues.length < maxIssues) this.#issues.push({ path, message });
  }

  /** @throws Fault that shows the first problem and lists the others in its metadata; INVALID_REQUEST unless that one says otherwise */
  throwIfAny(): void {
    const [first] = this.#issues;
    if (!first) return;
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : "";
    const fault = new Fault(this.#reason, `${sentence(first)}${more}`, { origin: FaultOrigin.CLIENT });
    throw fault.with({ metadata: { error_type: fault.errorType, param: first.path, issues: this.#issues } });
  }
}

/** Runs checks and throws for all that they found. @throws Fault INVALID_REQUEST */
export function checked(check: (problems: Problems) => void): void {
  const problems = new Problems();
  check(problems);
  problems.throwIfAny();
}

/** A message that begins with its path is a sentence already. */
const sentence = ({ path, message }: Problem): string =>
  message.startsWith(`${path} `) ? message : `${path}: ${message}`;

/** A single problem as a fault. */
export function invalid(path: string, message: string): Fault {
  return new Fault(FaultReason.INVALID_REQUEST, sentence({ path, message }), {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request", param: path, issues: [{ path, message }] },
  });
}
