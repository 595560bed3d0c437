/** A thread that checks the patterns that it was started with, answers once, and ends. */
import { parentPort, workerData } from "node:worker_threads";
import { complaintAbout } from "./pattern.ts";

parentPort?.postMessage((workerData as readonly string[]).map(complaintAbout), []);
