/** `fetch` for JSON-RPC, which keeps what viem would lose of a refusal: the headers of a 429, and one error for a whole batch. */
import { HttpRequestError } from 'viem'

type Fetch = typeof fetch
type Input = Parameters<Fetch>[0]

/** An error is short; a batch of answers is looked into no further than this. */
const MAX_ERROR_BYTES = 4_096

/** For one endpoint: one that takes no batches is sent their requests one by one from then on. */
export function strictFetch(): Fetch {
  let takesBatches = true
  return async (input, init) => {
    const requests = requestsOf(init)
    if (requests && !takesBatches) return oneByOne(requests, input, init)
    try {
      return await fetchWhole(input, init, requests !== undefined)
    } catch (error) {
      const isRefusal = error instanceof HttpRequestError && /\bbatch/i.test(error.details)
      if (!requests || !isRefusal || error.status === 429) throw error
      takesBatches = false
      return oneByOne(requests, input, init)
    }
  }
}

/** viem sends a batch even of one request. */
function requestsOf(init: RequestInit | undefined): unknown[] | undefined {
  return typeof init?.body === 'string' && init.body.startsWith('[') ? JSON.parse(init.body) : undefined
}

async function oneByOne(requests: readonly unknown[], input: Input, init: RequestInit | undefined): Promise<Response> {
  const answers: string[] = []
  for (const request of requests) {
    const response = await fetchWhole(input, { ...init, body: JSON.stringify(request) }, false)
    answers.push(await response.text())
  }
  return new Response(`[${answers.join(',')}]`, { headers: { 'content-type': 'application/json' } })
}

async function fetchWhole(input: Input, init: RequestInit | undefined, isBatch: boolean): Promise<Response> {
  const response = await fetch(input, init)
  // viem hands over the body of a 429 where it looks like JSON-RPC, without its Retry-After.
  if (!response.ok) throw await refusal(response, input)
  if (!isBatch || Number(response.headers.get('content-length') ?? MAX_ERROR_BYTES) >= MAX_ERROR_BYTES) return response
  // viem takes a batch's answers by their place, and finds none in an object.
  const text = await response.text()
  if (text.trimStart().startsWith('{')) throw await refusal(new Response(text, response), input)
  return new Response(text, response)
}

async function refusal(response: Response, input: Input): Promise<HttpRequestError> {
  const { status, headers } = response
  const text = await response.text().catch(() => '')
  const url = input instanceof Request ? input.url : String(input)
  return new HttpRequestError({ url, status, headers, details: text.slice(0, MAX_ERROR_BYTES) || response.statusText })
}
