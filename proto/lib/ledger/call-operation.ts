/**
 * Purpose and payer of a call: the words of the ledger, and the older enum `kind`, by which earlier builds send both in
 * one value.
 */
import { CallKind, CallOperation, CallPayer } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";

export const callOperations = {
  turn: CallOperation.TURN,
  judge: CallOperation.JUDGE,
  moderation: CallOperation.MODERATION,
  classifier: CallOperation.CLASSIFIER,
  search: CallOperation.SEARCH,
  fetch: CallOperation.FETCH,
  ocr: CallOperation.OCR,
  image: CallOperation.IMAGE,
  panel: CallOperation.PANEL,
  analyst: CallOperation.ANALYST,
  advisor: CallOperation.ADVISOR,
  subagent: CallOperation.SUBAGENT,
  sandbox: CallOperation.SANDBOX,
  mcp: CallOperation.MCP,
  embed: CallOperation.EMBED,
} as const;

export const callPayers = { key: CallPayer.KEY, operator: CallPayer.OPERATOR } as const;

export type OperationWord = keyof typeof callOperations;
export type PayerWord = keyof typeof callPayers;

/** The purpose of a call and its payer. */
export interface CallPurpose {
  readonly operation: OperationWord;
  readonly payer: PayerWord;
}

export const operationWords = Object.keys(callOperations) as readonly OperationWord[];

const operationByNumber = byNumber(callOperations);
const payerByNumber = byNumber(callPayers);

/** The word for an operation; undefined when it is unset or unknown to this build. */
export const toOperationWord = (operation: CallOperation): OperationWord | undefined =>
  operationByNumber.get(operation);

/** Operations that answer a request; every other operation supports one of them. */
export const answeringOperations = ["turn", "embed"] as const satisfies readonly OperationWord[];

/** Operations that call a service other than a model. */
export const serviceOperations: ReadonlySet<OperationWord> = new Set(["search", "fetch", "sandbox", "mcp"]);

const purposeByKind: ReadonlyMap<CallKind, CallPurpose> = new Map([
  [CallKind.PRIMARY, { operation: "turn", payer: "key" }],
  [CallKind.JUDGE, { operation: "judge", payer: "operator" }],
  [CallKind.MODERATION, { operation: "moderation", payer: "operator" }],
  [CallKind.CLASSIFIER, { operation: "classifier", payer: "operator" }],
  [CallKind.PANEL, { operation: "panel", payer: "key" }],
  [CallKind.ANALYST, { operation: "analyst", payer: "key" }],
  [CallKind.CHARGED_JUDGE, { operation: "judge", payer: "key" }],
  [CallKind.CHARGED_MODERATION, { operation: "moderation", payer: "key" }],
  [CallKind.CHARGED_CLASSIFIER, { operation: "classifier", payer: "key" }],
  [CallKind.ADVISOR, { operation: "advisor", payer: "key" }],
  [CallKind.IMAGE, { operation: "image", payer: "key" }],
  [CallKind.OCR, { operation: "ocr", payer: "operator" }],
  [CallKind.CHARGED_OCR, { operation: "ocr", payer: "key" }],
]);

const kindByPurpose: ReadonlyMap<string, CallKind> = new Map(
  [...purposeByKind].map(([kind, { operation, payer }]) => [`${operation} ${payer}`, kind]),
);

/** The purpose of a record without a kind, which is that of most calls. */
const usualPurpose: CallPurpose = { operation: "turn", payer: "key" };
/** The purpose of a kind unknown to this build: it does not count as an answer, and the operator pays. */
const unknownPurpose: CallPurpose = { operation: "judge", payer: "operator" };

/**
 * The closest kind for an earlier build: its payer is always right, because earlier builds charge by it, and only an
 * answer counts as a request.
 */
export const callKind = ({ operation, payer }: CallPurpose): CallKind =>
  kindByPurpose.get(`${operation} ${payer}`) ??
  (payer === "operator" ? CallKind.JUDGE : operation === "embed" ? CallKind.PRIMARY : CallKind.ADVISOR);

/** The purpose of a recorded call. If this build does not know its operation or payer, the closest kind decides. */
export function purposeOfRecord(record: {
  readonly operation?: CallOperation;
  readonly payer?: CallPayer;
  readonly kind?: CallKind;
}): CallPurpose {
  const { operation = CallOperation.UNSPECIFIED, payer = CallPayer.UNSPECIFIED, kind = CallKind.UNSPECIFIED } = record;
  const closest = purposeByKind.get(kind) ?? (kind === CallKind.UNSPECIFIED ? usualPurpose : unknownPurpose);
  return {
    operation: toOperationWord(operation) ?? closest.operation,
    payer: payerByNumber.get(payer) ?? closest.payer,
  };
}

function byNumber<Word extends string>(numbers: Readonly<Record<Word, number>>): ReadonlyMap<number, Word> {
  return new Map(Object.entries<number>(numbers).map(([word, number]) => [number, word as Word]));
}
