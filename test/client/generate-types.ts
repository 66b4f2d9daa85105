/** `npm run client:types`: the OpenAPI document as the types of the TypeScript client, in src/schema.ts, which git ignores. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { openApi } from '../../api/schema/openapi.ts'

const FILE = join(import.meta.dirname, '../../api/extras/clients/typescript/src/schema.ts')

await writeFile(FILE, astToString(await openapiTypescript(JSON.stringify(openApi()))))
