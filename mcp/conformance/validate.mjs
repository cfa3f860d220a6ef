// The second JSON Schema validator of the property test. It reads a line {"schema":…,"values":[…]}
// and writes a line with AJV's verdict on each value, by draft-07 and by 2020-12: both must agree.
import readline from "node:readline";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const validators = [new Ajv({ strict: true, allowUnionTypes: true }), new Ajv2020({ strict: true, allowUnionTypes: true })];
validators.forEach((ajv) => addFormats(ajv));

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { schema, values } = JSON.parse(line);
  const [older, newer] = validators.map((ajv) => ajv.compile(schema));
  const answers = values.map((text) => {
    const value = JSON.parse(text);
    const said = older(value);
    if (said !== newer(value)) throw new Error(`draft-07 and 2020-12 disagree about ${text}`);
    return said;
  });
  process.stdout.write(JSON.stringify(answers) + "\n");
}
