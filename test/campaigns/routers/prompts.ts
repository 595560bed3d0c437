/** Requests of the simulation, each with a benchmark of similar kind and difficulty. */

export interface SimulatedRequest {
  readonly text: string;
  readonly benchmark: string;
  readonly isCode: boolean;
}

/** Benchmarks, each with requests of its kind. In each pair, fewer models solve the harder benchmark. */
const texts: Readonly<Record<string, readonly string[]>> = {
  "GPQA Diamond": [
    "Which planet has the most moons?",
    "What is the boiling point of ethanol?",
    "Name the parts of a cell.",
    "What does a catalyst do in a reaction?",
    "Who discovered penicillin?",
    "Why is the sky blue?",
  ],
  "Humanity's Last Exam": [
    "Derive the selection rules for electric dipole transitions in a hydrogen-like atom, and discuss at which order of perturbation theory they break down.",
    "Prove that the fundamental group of a topological group is abelian, without the Eckmann-Hilton argument.",
    "Design an assay that must separate allosteric from competitive inhibition at most at two concentrations, and state the root cause of each confounder.",
    "Prove or refute that every simple group of order less than 200 is cyclic or alternating, except at most one.",
  ],
  SciCode: [
    "Write a Python function that adds two matrices.",
    "How do I read a CSV file in pandas?",
    "Write a loop that prints the even numbers up to 20.",
    "Convert this date string to a timestamp in JavaScript.",
    "What does git stash do?",
    "Write a regex for an e-mail address.",
  ],
  "Terminal-Bench Hard": [
    "Debug the deadlock in our distributed job scheduler: workers must acquire two leases, and without a timeout one of them hangs. Find the root cause and fix the race condition.",
    "Design and implement a lock-free queue in C++ with safe memory reclamation; it must be linearizable and should scale to 64 cores.",
    "Migrate our service from a single PostgreSQL to a sharded one without downtime. Explain the trade-offs, security included, and write the code of the migration.",
    "Optimize this kernel's memory allocator for concurrent use; derive the worst case and prove that no allocation is lost.",
  ],
  CritPt: [
    "Derive the renormalisation group flow of the two-dimensional XY model, and prove that the transition has no latent heat.",
    "Prove that the spectral gap of the AKLT chain is bounded from below, and derive an explicit constant.",
    "Derive the eigenvalues of the Hamiltonian to second order without assuming that the perturbation is diagonal, and show the integral in full.",
  ],
  IFBench: [
    "Write a haiku about autumn.",
    "Rewrite this sentence so that it is polite: Send me the file.",
    "Translate into Spanish: Where is the station?",
    "List five names for a cat.",
    "hello",
    "Write a birthday greeting for my aunt.",
  ],
  "AA-LCR": [
    "Summarise this: The river rose during the night and reached the lower streets by morning. Shops stayed closed and buses were diverted.",
    "Extract the names: Ann met Bob and Cid in Rome on Monday.",
    "Is this review positive or negative? Arrived late, but the quality is superb.",
  ],
  "tau2-Bench": [
    "Cancel my order 5521 please.",
    "Change my seat to the aisle.",
    "My router blinks red, what now?",
    "Which plan has more data?",
  ],
};

const ofCode: ReadonlySet<string> = new Set(["SciCode", "Terminal-Bench Hard"]);

export const simulatedRequests: readonly SimulatedRequest[] = Object.entries(texts).flatMap(([benchmark, all]) =>
  all.map((text) => ({ text, benchmark, isCode: ofCode.has(benchmark) })),
);
