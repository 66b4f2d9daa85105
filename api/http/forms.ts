/** The forms of an answer, chosen by `Accept`: JSON unless another one is preferred. */
import type { Request, Response } from 'express'
import { isRowForm, ROW_FORMS, type TextRow } from '../lib/row-text.ts'
import type { MarketAnswer } from '../market/answer.ts'
import type { AccountHandler } from './authenticate.ts'
import { type AnswerText, CREDITS_USED, sendText } from './headers.ts'

const STREAM_FORM = 'text/event-stream'
const FORMS: string[] = ['application/json', STREAM_FORM, ...Object.keys(ROW_FORMS)]

/** `stream` answers the requests that prefer a stream, `once` all where it is absent. */
export function inForms(once: AccountHandler, stream: AccountHandler = once): AccountHandler {
  return (account, req, res) => {
    res.vary('Accept')
    const isStream = req.method === 'GET' && req.accepts(FORMS) === STREAM_FORM
    return isStream ? stream(account, req, res) : once(account, req, res)
  }
}

/** `columns`: the columns of each row, in order. `text`: the JSON around the rows. */
export function sendRows<AnswerRow extends TextRow>(
  req: Request,
  res: Response,
  { cost, closed }: MarketAnswer<unknown>,
  rows: {
    data: () => readonly AnswerRow[]
    columns: readonly (keyof AnswerRow & string)[]
    text: () => Pick<AnswerText, 'text' | 'etag'>
  },
): void {
  const form = req.accepts(FORMS)
  if (isRowForm(form)) {
    const { type, write } = ROW_FORMS[form]
    res.set(CREDITS_USED, String(cost))
    sendText(res, { text: write(rows.data(), rows.columns), type, closed })
  } else sendText(res, { ...rows.text(), type: 'application/json', closed })
}
