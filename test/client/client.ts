/** The service as TypeScript sees it: questions and answers have the types of the OpenAPI document. */
import createFetchClient, { type Client } from 'openapi-fetch'
import type { paths } from '../../api/extras/clients/typescript/src/schema.ts'

/** Requests and errors are values: `{ data, error, response }`. */
export function createClient(options: { url: string; key?: string; fetch?: typeof fetch }): Client<paths> {
  const { url, key, fetch } = options
  return createFetchClient<paths>({
    baseUrl: url,
    ...(key !== undefined && { headers: { 'X-API-KEY': key } }),
    ...(fetch !== undefined && { fetch }),
  })
}
