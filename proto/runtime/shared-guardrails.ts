/**
 * One copy of a guardrail for all the keys that are under it: one of the account may have a megabyte of patterns, and a process knows up to a
 * hundred thousand keys.
 */
import { equals } from "@bufbuild/protobuf";
import { type Caller, type Guardrail, GuardrailSchema } from "../gen/sluice/admin/v1/access_service_pb.ts";

export class SharedGuardrails {
  readonly #known = new Map<string, WeakRef<Guardrail>>();
  readonly #forgotten = new FinalizationRegistry<string>((id) => {
    // Another version may have taken its place.
    if (this.#known.get(id)?.deref() === undefined) this.#known.delete(id);
  });

  /** Puts in the place of a caller's guardrails those that are known and say the same. They are not to be changed. */
  share(caller: Caller): void {
    if (caller.guardrail) caller.guardrail = this.#shared(caller.guardrail);
    caller.workspaceGuardrails = caller.workspaceGuardrails.map((guardrail) => this.#shared(guardrail));
  }

  #shared(guardrail: Guardrail): Guardrail {
    const known = this.#known.get(guardrail.id)?.deref();
    if (known && equals(GuardrailSchema, known, guardrail)) return known;
    this.#known.set(guardrail.id, new WeakRef(guardrail));
    this.#forgotten.register(guardrail, guardrail.id);
    return guardrail;
  }
}
