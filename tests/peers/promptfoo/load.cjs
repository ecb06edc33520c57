// A promptfoo file, read as promptfoo reads it and checked by the schema inside its package; prints the tests.
const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");

const [file, home] = process.argv.slice(2);
const installed = createRequire(path.join(home, "package.json"));
const folder = path.join(home, "node_modules", "promptfoo", "dist", "src");
const schemas = fs.readdirSync(folder).find((name) => /^tables-.*\.cjs$/.test(name));
const { TestSuiteConfigSchema } = installed(path.join(folder, schemas));

const content = installed("js-yaml").load(fs.readFileSync(file, "utf8"));
const suite = TestSuiteConfigSchema.parse({ prompts: ["{{input}}"], providers: ["echo"], ...content });
process.stdout.write(JSON.stringify(suite.tests));
