/** Sessions of the console, stored in admin-svc. The gateway passes the hash of a secret on and stores nothing, so any gateway serves any session. */
import { type DescMessage, type DescMethodUnary, type MessageShape, create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import {
  type EndSessionRequest,
  type OpenSessionResponse,
  type RecordRefusalRequest,
  type Session,
  SessionService,
} from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type CallOrigin, call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { AuthorizedPerson } from "./people.ts";

const timeoutMs = 5_000;

export class Sessions {
  readonly #admin: Client;
  readonly #token: ServiceToken;

  constructor(admin: Client, token: ServiceToken) {
    this.#admin = admin;
    this.#token = token;
  }

  /**
   * @param caller with the hash of the management key, if there is no person
   * @throws Fault UNAUTHENTICATED, PERMISSION_DENIED, NOT_FOUND (the workspace of the person)
   */
  open(caller: CallOrigin, person?: AuthorizedPerson): Promise<OpenSessionResponse> {
    const { openSession } = SessionService.method;
    return this.#call(openSession, create(openSession.input, person && { person }), caller);
  }

  /** @returns undefined for an ended session */
  async find(secret: string, caller: CallOrigin): Promise<Session | undefined> {
    const { resolveSession } = SessionService.method;
    const request = create(resolveSession.input, { sessionHash: hashKey(secret), knowsRoles: true });
    return (await this.#call(resolveSession, request, caller)).session;
  }

  /** @returns the rights of a person identified by a proxy with each request @throws Fault NOT_FOUND, PERMISSION_DENIED */
  async findPerson(person: AuthorizedPerson, caller: CallOrigin): Promise<Session | undefined> {
    const { resolvePerson } = SessionService.method;
    return (await this.#call(resolvePerson, create(resolvePerson.input, { person }), caller)).session;
  }

  async end(secret: string, { all }: Pick<EndSessionRequest, "all">, caller: CallOrigin): Promise<void> {
    const { endSession } = SessionService.method;
    await this.#call(endSession, create(endSession.input, { sessionHash: hashKey(secret), all }), caller);
  }

  /** Records in the audit log that the caller ended a turn. */
  async recordEndedTurn(generationId: string, caller: CallOrigin & { readonly keyHash: string }): Promise<void> {
    const { recordEndedTurn } = SessionService.method;
    await this.#call(recordEndedTurn, create(recordEndedTurn.input, { generationId }), caller);
  }

  /** Records in the audit log a call that the caller's role does not permit. */
  async recordRefusal(
    refusal: Pick<RecordRefusalRequest, "call" | "role" | "neededRole">,
    caller: CallOrigin & { readonly keyHash: string },
  ): Promise<void> {
    const { recordRefusal } = SessionService.method;
    await this.#call(recordRefusal, create(recordRefusal.input, refusal), caller);
  }

  #call<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageShape<Input>,
    caller: CallOrigin,
  ): Promise<MessageShape<Output>> {
    return call(this.#admin, method, request, serviceMetadata(this.#token, caller), timeoutMs);
  }
}
