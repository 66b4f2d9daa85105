/** The document as TypeScript types; schema.ts is its output, and a test holds that. */
import openapiTypescript, { astToString } from 'openapi-typescript'
import type { OpenApi } from '../../api/schema/openapi.ts'

const HEADER = `/** Generated from /v0/openapi.json: \`npm test -- test/api/schema/reference -u\` updates it. */
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
`

export async function clientTypes(document: OpenApi): Promise<string> {
  return HEADER + astToString(await openapiTypescript(JSON.stringify(document)))
}
