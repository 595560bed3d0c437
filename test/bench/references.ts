/** Other proxies that are measured beside the pipe where they are installed: `--reference nginx,portkey`. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tie } from "@sluice/local/processes.js";
import { eventually } from "../support/processes.ts";
import { freePort } from "../support/runner/free-ports.ts";
import { familyOf, pin } from "./measure/machine.ts";
import type { LoadSubject } from "./subject.ts";

export const referenceIds = ["nginx", "portkey"] as const;
export type ReferenceId = (typeof referenceIds)[number];

export interface ReferenceProxy extends LoadSubject {
  stop(): Promise<void>;
}

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

interface Place {
  /** Folder that the program may write to. */
  readonly folder: string;
  readonly port: number;
  readonly upstreamPort: number;
}

const portkeyPackage = "@portkey-ai/gateway";

const programs: Readonly<Record<ReferenceId, (place: Place) => Program>> = {
  nginx: ({ folder, port, upstreamPort }) => {
    writeFileSync(join(folder, "nginx.conf"), nginxFile(port, upstreamPort));
    return { command: "nginx", args: ["-p", folder, "-c", "nginx.conf", "-e", "stderr"] };
  },
  portkey: ({ port, upstreamPort }) => {
    const modules = execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim();
    const script = join(modules, portkeyPackage, "build/start-server.js");
    if (!existsSync(script)) throw new Error(`npm install --global ${portkeyPackage}@1.15.2 would install it`);
    return {
      command: process.execPath,
      args: [script, `--port=${port}`, "--headless"],
      headers: {
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": `http://127.0.0.1:${upstreamPort}/v1`,
      },
    };
  },
};

/** One worker, connections kept on both sides, and nothing held back, as the pipe does it. */
const nginxFile = (port: number, upstreamPort: number): string => `
daemon off;
worker_processes 1;
pid nginx.pid;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_body_buffer_size 64k;
  keepalive_requests 1000000;
  upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;

/** @returns undefined where it is not installed, which is said */
export async function startReference(
  id: ReferenceId,
  setting: { readonly upstreamPort: number; readonly cpu: number },
  say: (line: string) => void,
): Promise<ReferenceProxy | undefined> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-bench-${id}-`));
  const port = await freePort();
  const remove = () => rmSync(folder, { recursive: true, force: true });
  let running: Running | undefined;
  try {
    const { command, args, headers } = programs[id]({ folder, port, upstreamPort: setting.upstreamPort });
    running = await Running.start(command, args);
    await running.listens(port);
    const pids = familyOf(running.pid);
    for (const pid of pids) pin(pid, setting.cpu);
    const { stop } = running;
    return {
      name: id,
      target: { port, format: "chat", key: "none", ...(headers && { headers }) },
      pids,
      stop: () => stop().finally(remove),
    };
  } catch (error) {
    await running?.stop();
    remove();
    say(`${id} is left out: ${(error as Error).message}`);
    return undefined;
  }
}

class Running {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #output = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.pid = child.pid as number;
    // The master of nginx takes its workers with it at this signal, which it could not at KILL.
    const untie = tie(this.pid, "INT");
    this.#exited = new Promise((resolve) => child.once("close", () => resolve()));
    void this.#exited.then(untie);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#output = (this.#output + text).slice(-2_000)));
  }

  /** @throws when there is no such program */
  static start(command: string, args: readonly string[]): Promise<Running> {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("spawn", () => resolve(new Running(child)));
    });
  }

  listens(port: number): Promise<void> {
    return eventually(() => {
      if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.#output}`);
      return new Promise((resolve) => {
        const socket = connect({ port, host: "127.0.0.1" });
        socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
        socket.once("connect", () => socket.destroy());
      });
    });
  }

  readonly stop = async (): Promise<void> => {
    this.#child.kill("SIGTERM");
    const force = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    await this.#exited;
    clearTimeout(force);
  };
}
