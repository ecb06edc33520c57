"""The language of a text, by its small words or its script."""

from evergold.text.words import language_of
from tests.rows import each_row


@each_row(
    ("text", "expected"),
    [
        ("The shop is open on Monday, and the boots are covered by a guarantee of two years.", "en"),
        ("La tienda abre los lunes y las botas están cubiertas por una garantía de dos años.", "es"),
        ("Le magasin est ouvert le lundi et les bottes sont couvertes par une garantie de deux ans.", "fr"),
        ("Der Laden ist am Montag geöffnet und die Stiefel haben eine Garantie von zwei Jahren.", "de"),
        ("A loja abre na segunda-feira e as botas são cobertas por uma garantia de dois anos, não mais.", "pt"),
        ("Il negozio è aperto il lunedì e gli stivali sono coperti da una garanzia di due anni.", "it"),
        ("", None),
        ("x = 1; y = 2", None),
        ("OK 123", None),
        ("You only need a passport.", None),
        ("De tentoonstelling is op zondag gesloten en een kaartje kost niet meer dan tien euro.", "nl"),
        ("今日は天気がいいですね", "kana"),
        ("今天天气很好", "han"),
        ("Сегодня хорошая погода", "cyrillic"),
        ("오늘은 날씨가 좋아요", "hangul"),
    ],
)
def test_small_words_name_the_language(text: str, expected: str | None) -> None:
    assert language_of(text) == expected
