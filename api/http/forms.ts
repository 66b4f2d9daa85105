/** The forms of an answer, chosen by `Accept`: JSON unless another one is preferred. */
import type { Request, Response } from 'express'
import { isRowForm, ROW_FORMS, type TextRow } from '../lib/row-text.ts'
import type { MarketAnswer } from '../market/answer.ts'
import type { AccountHandler } from './authenticate.ts'
import { CREDITS_USED, sendAnswer, sendText } from './headers.ts'

const STREAM_FORM = 'text/event-stream'
const FORMS: string[] = ['application/json', STREAM_FORM, ...Object.keys(ROW_FORMS)]

/** `stream` answers the requests that prefer a stream. */
export function inForms(once: AccountHandler, stream: AccountHandler): AccountHandler {
  return (account, req, res) => {
    res.vary('Accept')
    const isStream = req.method === 'GET' && req.accepts(FORMS) === STREAM_FORM
    return isStream ? stream(account, req, res) : once(account, req, res)
  }
}

/** `columns`: those of each row, in order. `body`: makes the JSON around the rows. */
export function sendRows<AnswerRow extends TextRow>(
  req: Request,
  res: Response,
  { cost, closed }: MarketAnswer<unknown>,
  rows: { data: readonly AnswerRow[]; columns: readonly (keyof AnswerRow & string)[]; body: () => object },
): void {
  const form = req.accepts(FORMS)
  if (isRowForm(form)) {
    const { type, write } = ROW_FORMS[form]
    res.set(CREDITS_USED, String(cost))
    sendText(res, { text: write(rows.data, rows.columns), type, closed })
  } else sendAnswer(res, rows.body(), closed)
}
