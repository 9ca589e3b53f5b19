"""The charts of pages, files and notebooks: one palette, one look.

    drawings      what is drawn: bars, curves, ledgers, heat maps; in Vega-Lite
    spacetime     ranks over time, and messages between them
    palette       what each colour means, in the light and the dark scheme
    standalone    a drawing without a page: in a notebook, or in a file

A drawing names its colours by their meaning (`var(--activity-send)`). On a page
they are variables of the style sheet, and follow the reader's scheme; elsewhere
`standalone` puts the light scheme's in their place.
"""
