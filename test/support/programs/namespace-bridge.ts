/** Runs inside of a namespace: forwards a loopback port to a Unix socket while the program named in the further arguments runs. */
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";

const others = Object.values(networkInterfaces())
  .flat()
  .filter((each) => each?.internal === false);
if (others.length > 0) throw new Error(`the namespace has an address beside loopback: ${others[0]?.address}`);

const [path = "", port = "", command = "", ...args] = process.argv.slice(2);
const server = createServer((socket) => {
  const out = connect(path);
  socket.on("error", () => out.destroy());
  out.on("error", () => socket.destroy());
  socket.pipe(out).pipe(socket);
});
server.listen(Number(port), "127.0.0.1", () => {
  const child = spawn(command, args, { stdio: "inherit" });
  child.once("error", (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(127);
  });
  child.once("exit", (code) => process.exit(code ?? 1));
});
