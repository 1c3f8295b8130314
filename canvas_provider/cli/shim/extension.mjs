// Installed by canvas-provider: a new install replaces this file. Edit extension.py instead.
//
// Copilot starts extension.mjs and nothing else. This one finds the Python that has canvas_provider
// and becomes it: the same process where Node can do that, else a child on the same pipes.

import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const WINDOWS = process.platform === "win32";
const PROBE_TIMEOUT_MS = 10_000;
const WATCH_INTERVAL_MS = 500;

// Drops the working directory from the search path (what -P does, which only 3.11 knows): that is
// the user's project, which may hold anything.
const PROBE = [
  "import sys",
  "sys.path[:] = [p for p in sys.path if p]",
  'sys.exit("is Python %d.%d" % sys.version_info[:2]) if sys.version_info < (3, 11) else None',
  "try:",
  "    import canvas_provider",
  "except ImportError:",
  '    sys.exit("has no canvas_provider")',
].join("\n");

const folder = extensionFolder();
const script = join(folder, "extension.py");
const looked = []; // one phrase for each place that did not serve

if (!existsSync(script)) {
  fail(`${script} is missing: run "canvas-provider install" again.`);
}
become(find() ?? fail(`no Python 3.11 or newer with canvas_provider was found: \
run "pip install canvas-provider" for one, or set CANVAS_PROVIDER_PYTHON. \
Looked at: ${looked.join("; ")}.`));

// EXTENSION_PATH is the path that Copilot found, before symbolic links were followed; a linked
// extension has its project there, not around the file that the link leads to.
function extensionFolder() {
  const self = fileURLToPath(import.meta.url);
  const given = process.env.EXTENSION_PATH;
  try {
    if (given && realpathSync(given) === realpathSync(self)) return dirname(given);
  } catch {
    // A path that leads nowhere says nothing about us.
  }
  return dirname(self);
}

function find() {
  return chosen() ?? recorded() ?? environment() ?? inlineMetadata() ?? installed();
}

function boot(python) {
  return [python, "-P", "-m", "canvas_provider.boot", script];
}

// A Python that somebody named is taken as it is: what fails then says so itself.
function chosen() {
  const name = process.env.CANVAS_PROVIDER_PYTHON;
  if (!name) return miss("CANVAS_PROVIDER_PYTHON", "is not set");
  const python = isAbsolute(name) || name.includes(sep) ? name : onPath(name)[0];
  if (python && executable(python)) return boot(python);
  fail(`CANVAS_PROVIDER_PYTHON is ${name}, which cannot be run: correct it or unset it.`);
}

function recorded() {
  const file = join(folder, ".canvas-provider.json");
  if (!existsSync(file)) return miss(file, "is not there");
  let python;
  try {
    python = JSON.parse(readFileSync(file, "utf8")).python;
  } catch {
    return miss(file, "cannot be read");
  }
  if (typeof python === "string" && executable(python)) return boot(python);
  return miss(file, `names ${python}, which cannot be run`);
}

// A .venv beside the extension, then in each folder above it: the project's root is one of them.
// The working directory is not asked: for a user's extension it is any project at all.
function environment() {
  const [bin, exe] = WINDOWS ? ["Scripts", "python.exe"] : ["bin", "python"];
  let found = false;
  for (const start of new Set([folder, realpathSync(folder)])) {
    for (let at = start, above; at !== above; above = at, at = dirname(at)) {
      const python = join(at, ".venv", bin, exe);
      if (!executable(python)) continue;
      found = true;
      if (!isOurs(join(at, ".venv"))) miss(join(at, ".venv"), "belongs to another user");
      else if (serves(python)) return boot(python);
    }
  }
  return found ? null : miss(`.venv in ${folder} and above`, "is not there");
}

// Some folder above may be everybody's, such as /tmp: what a stranger put there is not run.
function isOurs(venv) {
  return WINDOWS || [process.getuid(), 0, statSync(script).uid].includes(lstatSync(venv).uid);
}

// PEP 723: uv makes an environment of what the script asks for.
function inlineMetadata() {
  if (!/^# \/\/\/ script\s*$/m.test(readFileSync(script, "utf8"))) return null;
  const home = homedir();
  const places = [join(home, ".local", "bin"), join(home, ".cargo", "bin")];
  const [uv] = onPath("uv", places);
  if (!uv) return miss("uv", "is not there, and extension.py has inline metadata");
  return [uv, "run", "--quiet", "--no-project", "--with-requirements", script, ...boot("python")];
}

function installed() {
  const names = WINDOWS ? ["python3", "python"] : ["python3"];
  const pythons = names.flatMap((name) => onPath(name));
  const python = pythons.find(serves);
  if (python) return boot(python);
  return pythons.length ? null : miss("python3 on PATH", "is not there");
}

function serves(python) {
  const options = { encoding: "utf8", timeout: PROBE_TIMEOUT_MS, windowsHide: true };
  const { status, stderr } = spawnSync(python, ["-c", PROBE], {
    ...options,
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status === 0) return true;
  const lines = (stderr ?? "").trim().split("\n");
  return miss(python, lines.at(-1) || "does not run") !== null;
}

function onPath(name, more = []) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...more].filter(Boolean);
  const files = WINDOWS ? [`${name}.exe`] : [name];
  return [...new Set(folders.flatMap((at) => files.map((file) => join(at, file))))].filter(executable);
}

function executable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function miss(place, why) {
  looked.push(`${place} ${why}`);
  return null;
}

function fail(text) {
  console.error(`canvas-provider: ${text}`);
  process.exit(1);
}

function become([file, ...args]) {
  if (typeof process.execve === "function" && !WINDOWS) {
    process.execve(file, [file, ...args], process.env); // does not return
  }
  stayInFront(spawn(file, args, { stdio: "inherit", windowsHide: true }));
}

// Without execve: pass on what ends us, end as the child ends, and never leave it behind.
function stayInFront(child) {
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"];
  const parent = process.ppid;
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  process.on("exit", () => child.kill());
  setInterval(() => {
    if (process.ppid !== parent) child.kill();
  }, WATCH_INTERVAL_MS).unref();
  child.on("error", (error) => fail(`${child.spawnfile} cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    signals.forEach((name) => process.removeAllListeners(name));
    process.kill(process.pid, signal);
  });
}
