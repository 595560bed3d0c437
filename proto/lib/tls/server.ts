/** An HTTP/2 server for Sluice's services only, authenticated by their certificates. */
import {
  type Http2SecureServer,
  type SecureServerOptions,
  type ServerHttp2Session,
  createSecureServer,
} from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Logger } from "../log/log.ts";
import { serviceTokenHeader } from "../rpc/caller.ts";
import { type ServiceToken, tokenToSend } from "../rpc/service-token.ts";
import type { Certificates, Credentials } from "./certificates.ts";
import { type ServiceName, isServiceCertificate } from "./identity.ts";

export interface ServerTls {
  readonly certificates: Certificates;
  /** Services allowed to connect. */
  readonly clients: readonly ServiceName[];
  /** Service token of this process: its handlers treat requests with the token as internal. */
  readonly token: ServiceToken;
}

type Handle = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export function createTlsServer(
  { certificates, clients, token }: ServerTls,
  options: SecureServerOptions,
  log: Logger,
  handle: Handle,
): Http2SecureServer {
  const server = createSecureServer(
    { ...options, ...secured(certificates.current), requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      // On a TLS connection, the client's certificate replaces the token, so the token is added to its requests.
      request.headers[serviceTokenHeader] = tokenToSend(token);
      handle(request, response);
    },
  );
  server.on("session", (session: ServerHttp2Session) => {
    const { subjectaltname } = (session.socket as TLSSocket).getPeerCertificate();
    if (isServiceCertificate(clients, certificates.current.servicePrefix, subjectaltname)) return;
    log.warn({ name: subjectaltname }, "a connection was refused: the service in its certificate may not call");
    session.destroy();
  });
  server.on("tlsClientError", (error) => log.warn({ err: error }, "a connection was refused"));
  const renew = (credentials: Credentials) => server.setSecureContext(secured(credentials));
  certificates.watch(renew);
  server.on("close", () => certificates.unwatch(renew));
  return server;
}

const secured = ({ cert, key, ca }: Credentials) => ({ cert, key, ca, minVersion: "TLSv1.3" as const });
