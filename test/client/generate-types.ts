/** `npm run client:types`: the OpenAPI document as the types of the TypeScript client, in src/schema.ts, which git ignores. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { ADDED_APIS } from '../../api/extras/added-api.ts'
import { openApi } from '../../api/schema/openapi.ts'
import { withoutArguments } from '../../infra/process/help.ts'

const FILE = join(import.meta.dirname, '../../api/extras/clients/typescript/src/schema.ts')

withoutArguments({
  does: 'Generates the types of the TypeScript client from the OpenAPI document, in api/extras/clients/typescript/src/schema.ts.',
  usage: ['npm run client:types'],
  examples: ['npm run client:types'],
})
await writeFile(FILE, astToString(await openapiTypescript(JSON.stringify(openApi(...ADDED_APIS)))))
