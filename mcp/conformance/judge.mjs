// Compares the results of the newer conformance suite with the expected results, check by check.
// The suite's own baseline knows scenarios only: a scenario that fails for a missing feature would
// hide a check that fails for a mistake.
//
//   node judge.mjs RESULTS EXPECTED
import fs from "node:fs";
import path from "node:path";

const [results, expected] = process.argv.slice(2);
const lines = fs.readFileSync(expected, "utf8").split("\n");
const want = new Set(lines.map((line) => line.replace(/#.*/, "").trim()).filter(Boolean));

const failed = new Set();
let scenarios = 0;
let passed = 0;
for (const run of fs.readdirSync(results)) {
  scenarios++;
  const scenario = run.replace(/^server-/, "").replace(/-\d{4}-\d{2}-\d{2}T.*$/, "");
  for (const check of JSON.parse(fs.readFileSync(path.join(results, run, "checks.json"), "utf8"))) {
    if (check.status === "SUCCESS") passed++;
    if (check.status === "FAILURE" || check.status === "WARNING") failed.add(`${scenario} ${check.id}`);
  }
}

const more = [...failed].filter((check) => !want.has(check));
const fewer = [...want].filter((check) => !failed.has(check));
more.forEach((check) => console.log(`fails, and should not: ${check}`));
fewer.forEach((check) => console.log(`should fail, and does not: ${check}`));
console.log(`${scenarios} scenarios, ${passed} checks passed, ${failed.size} failed for what the server does not have`);
process.exit(more.length + fewer.length > 0 || scenarios < 40 ? 1 : 0);
