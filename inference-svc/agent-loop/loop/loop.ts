/**
 * The agent loop: calls the model, runs the server tools the model calls, and calls the model again with their outputs until it answers. The client gets
 * one response.
 */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { CollectedAnswer, toGeneratedAnswer, holdUntilCommit } from "../../turn/answer-kinds.ts";
import { stoppedConversation } from "../../turn/stopped-conversation.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Batch, type Layer, type Outcome, type Turn, isCommitPoint } from "../../turn/turn.ts";
import { type CallableTools, ModelAnswer, type CalledTool, ItemNumbers, skippedCallOutput } from "./model-answer.ts";
import { clientFunctions } from "../client-tools/client-tools.ts";
import { CallItems } from "./call-items.ts";
import { clientCallEvents } from "./client-calls.ts";
import { blockedEndEvent, toFinalFault } from "./final-failure.ts";
import { Limits, type StopReason } from "./loop-limits.ts";
import { CallResults, callOutput } from "./call-results.ts";
import { CallRunner, type RunningCall } from "./call-runner.ts";
import { toLastStepRequest, withoutForcedTool } from "./next-request.ts";
import { withOutputs } from "./resumed-call.ts";
import { scanOutputs } from "./scanned-results.ts";
import { buildToolsStage, recordUnsentTools } from "./stage.ts";
import { Toolbox } from "../toolbox.ts";
import { errorOutput } from "../tool.ts";
import type { ToolSourceDeps } from "../tool-source.ts";
import { listSources } from "./source-lists.ts";

export interface LoopDeps extends ToolSourceDeps {
  /** Guardrail that scans the joined texts of several answers of the model. */
  readonly joinedTextGate: Layer;
  /** The input guardrails: they scan tool outputs before the model reads them. */
  readonly guards: readonly Layer[];
  /** The output guardrails: they scan tool items before the client gets them. */
  readonly gates: readonly Layer[];
  /** Cost of only the input at the endpoint of the last answer, in 10^-12 USD; 0 when no price is known. */
  readonly inputCost: (request: TurnRequest, scope: Scope) => bigint;
  readonly log: Pick<Logger, "warn">;
}

/** @param keeps whether the loop also runs for requests without server tools, so the conversation can continue after calls of the client */
export const serverTools =
  (parts: LoopDeps, keeps = false): Layer =>
  (next) =>
  (request, scope) => {
    const toolbox = Toolbox.of(request, scope, parts) ?? (keeps ? Toolbox.empty(request) : undefined);
    if (toolbox === undefined) return next(request, scope);
    if (!keeps && toolbox.offers.size === 0 && toolbox.clientTools.size === 0) return next(toolbox.request, scope);
    recordUnsentTools(toolbox.offers, scope);
    const turns: Turn = () => {
      const answer = toGeneratedAnswer(new Loop(parts, next, toolbox, request, scope).run());
      // A client without streaming must not get the first half of an answer that fails later: the whole answer is
      // collected first.
      return request.stream ? holdUntilCommit(answer) : new CollectedAnswer(answer);
    };
    // Each answer of the model has passed the guardrails by itself, but clients join the texts of all answers.
    return parts.joinedTextGate(turns)(request, scope);
  };

/** Why the loop stopped. */
type Ending = StopReason | "answer" | "client_calls" | "approval" | "incomplete" | "failed";

/** The calls of one answer, and whether another answer follows. */
interface Step {
  readonly ran: CallResults;
  /** Whether the model gets no more tool outputs. */
  readonly isLast: boolean;
  /** Why the response ends although the model waits for tool outputs. */
  readonly handsOver: Ending | undefined;
  readonly isOver: boolean;
}

class Loop {
  readonly #parts: LoopDeps;
  readonly #next: Turn;
  #toolbox: Toolbox;
  readonly #scope: Scope;
  readonly #stream: boolean;
  readonly #limits: Limits;
  readonly #runner: CallRunner;
  readonly #numbers = new ItemNumbers();
  /** Whether the client has received something it may act on. */
  #committed = false;
  #hasEffect = false;
  /** Number of rejected calls of client tools, which the model had to repeat. */
  #rejectedCalls = 0;
  /** Calls of earlier responses the client has approved. */
  #allowed: readonly CalledTool[] = [];

  /** @param original the client's request */
  constructor(parts: LoopDeps, next: Turn, toolbox: Toolbox, original: TurnRequest, scope: Scope) {
    this.#parts = parts;
    this.#next = next;
    this.#toolbox = toolbox;
    this.#scope = scope;
    this.#stream = original.stream;
    this.#limits = new Limits(original, scope, (request) => parts.inputCost(request, scope));
    this.#runner = new CallRunner(scope, parts.log);
  }

  /** Runs the loop. @throws Fault as every turn does */
  async *run(): AsyncGenerator<Batch> {
    try {
      for await (const batch of this.#all()) {
        this.#committed ||= this.#stream && batch.some(isCommitPoint);
        yield batch;
      }
    } catch (error) {
      this.#recordStage("failed");
      const fault = this.#committed || this.#hasEffect ? toFinalFault(error) : error;
      const end = this.#committed ? blockedEndEvent(fault, this.#scope.trace.usage) : undefined;
      if (end === undefined) throw fault;
      yield [end];
    } finally {
      for (const { open } of this.#toolbox.sources.entries) open.close();
    }
  }

  async *#all(): AsyncGenerator<Batch> {
    if (this.#toolbox.sources.entries.length > 0) {
      const occasion = { request: this.#toolbox.declared, scope: this.#scope };
      const parts = { ...this.#parts, numbers: this.#numbers };
      ({ toolbox: this.#toolbox, allowed: this.#allowed } = yield* listSources(this.#toolbox, occasion, parts));
    }
    yield* this.#turns();
  }

  async *#turns(): AsyncGenerator<Batch> {
    const resumed = new CallResults();
    yield* this.#resume(resumed);
    if (resumed.waitsFor.length > 0) {
      this.#recordStage("client_calls");
      yield this.#endFor(resumed, { status: "completed", serviceTier: "default" });
      return;
    }
    let request = withOutputs(this.#toolbox.request, resumed.outputs);
    let model: string | undefined;
    let stop: StopReason | undefined;
    for (let isFirst = true; ; isFirst = false) {
      const answer = new ModelAnswer(this.#callable, this.#numbers, { isFirst, model });
      yield* this.#readAnswer(answer, request, isFirst);
      const { outcome } = answer;
      if (outcome === undefined) return;
      const step = yield* this.#act(answer, request, stop === undefined && outcome.status !== "incomplete");
      const following = this.#toolbox.loading(after(request, answer, step.ran), step.ran.loads);
      const reason = step.isLast ? undefined : this.#limits.after(madeIn(answer), step.ran.completed === 0, following);
      if (step.isOver) {
        this.#recordStage(step.handsOver ?? stop ?? endingOf(answer, outcome));
        this.#scope.state.get(stoppedConversation).items = following.input;
        yield [...answer.rest(), ...this.#endFor(step.ran, outcome)];
        return;
      }
      ({ model } = answer);
      stop = reason;
      request = stop === undefined ? following : toLastStepRequest(following);
    }
  }

  async *#readAnswer(answer: ModelAnswer, request: TurnRequest, isFirst: boolean): AsyncGenerator<Batch> {
    for await (const batch of this.#next(request, isFirst ? this.#scope : this.#scopeOnceMore)) {
      const shown = answer.take(batch);
      if (shown.length > 0) yield shown;
    }
  }

  /**
   * Runs the calls of one answer. Calls that need approval are sent to the client for it; one wrong call of a client
   * tool rejects all calls.
   * @param mayFollow whether another answer may follow this answer
   */
  async *#act(answer: ModelAnswer, request: TurnRequest, mayFollow: boolean): AsyncGenerator<Batch, Step> {
    const rejections = mayFollow ? answer.rejections() : undefined;
    const isLast = !mayFollow || (answer.calls.length === 0 && rejections === undefined);
    const waiting = answer.calls.filter(({ offer }) => offer.open.toApprovalRequest !== undefined);
    const running = answer.calls.filter(({ offer }) => offer.open.toApprovalRequest === undefined);
    const ran = new CallResults();
    if (!isLast) yield* this.#run(running, [...request.input, ...answer.items], ran);
    if (rejections) this.#reject([...rejections, ...waiting.map(toSkippedOutput)], ran);
    const needsApproval = !isLast && waiting.length > 0 && rejections === undefined;
    if (needsApproval) yield* this.#requestApproval(waiting);
    const handsOver = needsApproval ? "approval" : ran.waitsFor.length > 0 ? "client_calls" : undefined;
    const isForClient = answer.functions.length > 0 && rejections === undefined;
    return { ran, isLast, handsOver, isOver: isLast || isForClient || handsOver !== undefined };
  }

  /** The end event of the response, after the calls for the client. */
  #endFor({ waitsFor }: CallResults, outcome: Outcome): Batch {
    return [...clientCallEvents(waitsFor, this.#numbers, this.#stream), { type: "end", outcome }];
  }

  /** Runs the pending calls of an earlier response: suspended calls, and calls approved by the client. */
  async *#resume(ran: CallResults): AsyncGenerator<Batch> {
    const { waiting, request } = this.#toolbox;
    const calls = [...this.#allowed, ...waiting];
    if (calls.length === 0) return;
    yield* this.#run(calls, request.input, ran);
    this.#limits.steps += calls.length;
  }

  get #callable(): CallableTools {
    const { offers, clientTools } = this.#toolbox;
    return { offers, clientTools, hasClientFunctions: () => this.#scope.state.get(clientFunctions).areSent };
  }

  /** Sends the client an approval request for each of these calls. */
  async *#requestApproval(calls: readonly CalledTool[]): AsyncGenerator<Batch> {
    for (const { offer, argumentsJson } of calls) {
      const approval = offer.open.toApprovalRequest?.(argumentsJson.trim() || "{}");
      if (approval === undefined) continue;
      yield await this.#items.whole({
        type: approval.type,
        id: newId(approval.idPrefix),
        status: "completed",
        ...approval.fields,
      });
    }
  }

  /** The scope for a further answer: events of a failed attempt stay hidden while another endpoint may still answer. */
  get #scopeOnceMore(): Scope {
    return this.#scope.with({ again: this.#committed || this.#hasEffect ? "once" : "first" });
  }

  /** @param input the conversation, including the answer with the calls @param ran receives the results */
  async *#run(calls: readonly CalledTool[], input: readonly InputItem[], ran: CallResults): AsyncGenerator<Batch> {
    this.#hasEffect ||= calls.some(({ offer }) => offer.tool.hasEffect);
    const running = this.#runner.start(calls, input, this.#limits);
    for (const [index, call] of calls.entries())
      ran.add(call, yield* this.#items.ofCall(call, running[index] as RunningCall));
    await scanOutputs(ran.outputs, this.#parts.guards, { request: this.#toolbox.request, scope: this.#scope });
  }

  get #items(): CallItems {
    const { gates } = this.#parts;
    return new CallItems({ gates, numbers: this.#numbers, request: this.#toolbox.request, scope: this.#scope });
  }

  #reject(rejections: readonly InputItem[], ran: CallResults): void {
    this.#rejectedCalls += rejections.length;
    ran.outputs.push(...rejections);
  }

  /** Adds the tools stage to the receipt. Must run before the end event serializes it. */
  #recordStage(ending: Ending): void {
    if (this.#toolbox.offers.size === 0 && this.#rejectedCalls === 0) return;
    this.#scope.trace.stages.push(
      buildToolsStage(this.#toolbox.offers, this.#limits.steps, ending, this.#rejectedCalls),
    );
  }
}

const toSkippedOutput = ({ callId }: CalledTool): InputItem => callOutput(callId, errorOutput(skippedCallOutput));

const madeIn = ({ calls, functions }: ModelAnswer) => ({ offers: calls.map(({ offer }) => offer), functions });

function endingOf({ functions }: ModelAnswer, { status }: Outcome): Ending {
  if (status === "incomplete") return "incomplete";
  return functions.length > 0 ? "client_calls" : "answer";
}

/** The next request to the model. A forced tool choice stays until a call could be run or passed on. */
const after = (
  request: TurnRequest,
  { items, calls }: ModelAnswer,
  { outputs, sources, files }: CallResults,
): TurnRequest => ({
  ...request,
  input: [...request.input, ...items, ...outputs],
  ...(sources.length > 0 && { sources: [...(request.sources ?? []), ...sources] }),
  ...(files.length > 0 && { foundFiles: [...(request.foundFiles ?? []), ...files] }),
  ...(request.toolChoice !== undefined && calls.length > 0 && { toolChoice: withoutForcedTool(request.toolChoice) }),
});
