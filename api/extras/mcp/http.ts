/** One message of the Model Context Protocol over Streamable HTTP, without a session. */
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Request, Response } from 'express'
import { mcpServer } from './server.ts'
import type { ServiceAccess } from './tools.ts'

export async function answerMessage(access: ServiceAccess, message: object, req: Request, res: Response) {
  const server = mcpServer(access, () => 'ask again later.')
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  res.on('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(req, res, message)
}
