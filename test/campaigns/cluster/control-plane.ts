/** A real control plane of Kubernetes on loopback: etcd, kube-apiserver and kube-controller-manager. Nodes are simulated in nodes.ts. */
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { endChild, lastLines, spawnChild } from "@sluice/local/child.js";
import { newAuthority, writeCertificate } from "../../support/certificates.ts";
import { type FinishedProcess, eventually, runProgram } from "../../support/processes.ts";
import { freePorts } from "../../support/runner/free-ports.ts";
import type { Programs } from "./programs.ts";

interface Ports {
  readonly etcd: number;
  readonly peers: number;
  readonly api: number;
  readonly controllers: number;
  readonly proxy: number;
}

export class ControlPlane {
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-cluster-"));
  readonly #children: { readonly child: ChildProcess; readonly exited: Promise<string> }[] = [];
  readonly #programs: Programs;
  readonly #ports: Ports;

  private constructor(programs: Programs, ports: Ports) {
    this.#programs = programs;
    this.#ports = ports;
  }

  /** @throws Error with the end of the failing program's log */
  static async start(programs: Programs): Promise<ControlPlane> {
    const [etcd, peers, api, controllers, proxy] = (await freePorts(5)) as [number, number, number, number, number];
    const plane = new ControlPlane(programs, { etcd, peers, api, controllers, proxy });
    try {
      await plane.#start();
      return plane;
    } catch (error) {
      const log = lastLines(plane.#at("kube-apiserver.log"), 5);
      await plane.stop();
      throw new Error(`the control plane did not start: ${log}`, { cause: error });
    }
  }

  async #start(): Promise<void> {
    await this.#writeCredentials();
    await this.#startEtcd();
    await this.#startApiServer();
    await eventually(async () => (await this.kubectl("get", "--raw", "/readyz")).code === 0, 180_000);
    await this.#startControllers();
    await this.#spawn("kubectl", "kubectl", ["proxy", `--port=${this.#ports.proxy}`, ...this.#asAdministrator]);
    await eventually(
      () =>
        this.get("/readyz")
          .then(() => true)
          .catch(() => false),
      60_000,
    );
  }

  /** Writes certificates of the API server, the key of service accounts, and a token for all clients. */
  async #writeCredentials(): Promise<void> {
    const authority = await newAuthority("cluster");
    await writeCertificate(this.folder, { hosts: ["127.0.0.1"], by: authority, trusted: [authority] });
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    this.#write("accounts.key", privateKey.export({ type: "pkcs8", format: "pem" }) as string);
    const token = randomBytes(24).toString("hex");
    this.#write("tokens.csv", `${token},administrator,administrator,system:masters\n`);
    const cluster = { server: `https://127.0.0.1:${this.#ports.api}`, "certificate-authority": this.#at("ca.crt") };
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "here",
      clusters: [{ name: "here", cluster }],
      users: [{ name: "administrator", user: { token } }],
      contexts: [{ name: "here", context: { cluster: "here", user: "administrator" } }],
    };
    this.#write("kubeconfig", stringify(kubeconfig));
  }

  #startEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.#ports.etcd}`;
    const peer = `http://127.0.0.1:${this.#ports.peers}`;
    return this.#spawn("etcd", "etcd", [
      `--data-dir=${this.#at("etcd")}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      "--unsafe-no-fsync",
    ]);
  }

  #startApiServer(): Promise<void> {
    mkdirSync(this.#at("unused"));
    return this.#spawn("kube-apiserver", this.#programs.apiserver, [
      `--etcd-servers=http://127.0.0.1:${this.#ports.etcd}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${this.#ports.api}`,
      "--endpoint-reconciler-type=none",
      `--cert-dir=${this.#at("unused")}`,
      `--tls-cert-file=${this.#at("tls.crt")}`,
      `--tls-private-key-file=${this.#at("tls.key")}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--authorization-mode=RBAC",
      `--token-auth-file=${this.#at("tokens.csv")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${this.#at("accounts.key")}`,
      `--service-account-signing-key-file=${this.#at("accounts.key")}`,
    ]);
  }

  /** Starts all controllers except the one that evicts pods of silent nodes. */
  #startControllers(): Promise<void> {
    return this.#spawn("kube-controller-manager", this.#programs.controllers, [
      `--kubeconfig=${this.#at("kubeconfig")}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${this.#ports.controllers}`,
      `--cert-dir=${this.#at("unused")}`,
      "--leader-elect=false",
      "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
      `--service-account-private-key-file=${this.#at("accounts.key")}`,
      `--root-ca-file=${this.#at("ca.crt")}`,
    ]);
  }

  get #asAdministrator(): string[] {
    return [`--kubeconfig=${this.#at("kubeconfig")}`];
  }

  kubectl(...args: readonly string[]): Promise<FinishedProcess> {
    return runProgram("kubectl", [...args, ...this.#asAdministrator]);
  }

  helm(program: string, ...args: readonly string[]): Promise<FinishedProcess> {
    return runProgram(program, [...args, ...this.#asAdministrator]);
  }

  /** Sends a request to the API server. @throws Error for a status of 400 or more */
  async get<Answer>(path: string): Promise<Answer> {
    const { status, body } = await this.send("GET", path);
    if (status >= 400) throw new Error(`${path}: ${status} ${body}`);
    return (path.startsWith("/api") ? JSON.parse(body) : body) as Answer;
  }

  async send(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: string }> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const given = body && { headers: { "content-type": type }, body: JSON.stringify(body) };
    const answer = await fetch(`http://127.0.0.1:${this.#ports.proxy}${path}`, { method, ...given });
    return { status: answer.status, body: await answer.text() };
  }

  async stop(): Promise<void> {
    for (const { child, exited } of this.#children.toReversed()) await endChild(child, exited, "SIGKILL", 10_000);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #spawn(name: string, program: string, args: readonly string[]): Promise<void> {
    this.#children.push(await spawnChild(program, args, { log: this.#at(`${name}.log`), whenOrphaned: "KILL" }));
  }

  readonly #at = (name: string): string => join(this.folder, name);
  readonly #write = (name: string, text: string): void => writeFileSync(this.#at(name), text, { mode: 0o600 });
}
