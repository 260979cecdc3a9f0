"""Write the stop-word lists of src/plait/data/stop_words/ from their sources, and the corrections below.

The lists are part of plait, so that the same text gives the same words with every release. They are made
again only to correct them:

    mkdir sources && cd sources
    pip download --no-deps spacy==3.8.18 stopwordsiso==0.7.1
    apt-get download postgresql-15        # of Debian 12, which has Snowball's lists
    dpkg-deb -x postgresql-15_*.deb .
    cd .. && python tools/stop_words.py sources

A list is that of spaCy together with that of Snowball, if there is one, without the words in `REMOVED`, which
say something about the subject of a text, and with those in `ADDED`. The English list has all words of
english.txt, too, which is written by hand, as is yi.txt.
"""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
import zipfile
from pathlib import Path

HERE = Path(__file__).parents[1] / "src" / "plait" / "data" / "stop_words"

SPACY = """
    af ar bg ca cs da de el en es et eu fa fi fr ga he hi hr hu hy id is it ja lt lv nl ne pl pt ro ru sk sl
    sr sv ta tr uk
"""
ISO = ["eo", "gl", "st", "th"]
SNOWBALL = {
    "da": "danish", "nl": "dutch", "fi": "finnish", "fr": "french", "de": "german", "hu": "hungarian",
    "it": "italian", "no": "norwegian", "pt": "portuguese", "ru": "russian", "es": "spanish", "sv": "swedish",
    "tr": "turkish",
}  # fmt: skip

REMOVED = {
    "en": "amount bottom call empty front full move name serious side top",
    "de": """
        gross grosse grossen grosser grosses groß große großen großer großes kleine kleinen kleiner kleines
        neue neuen hoch offen kurz allgemeinen beispiel bekannt dank dasein ehrlich einmaleins gut gute guter
        gutes jahr jahre jahren
        mittel recht rechte rechten rechter rechtes satt schlecht tag tage tagen teil wahr zeit
    """,
    "es": """
        afirmó agregó añadió aseguró comentó consideró explicó expresó indicó informo informó manifestó
        mencionó señaló cuenta dia dias día días empleo final informe lado largo lugar mal medio paìs sentid
        sentida sentidas sentido sentidos sintiendo siente trabajo total verdad verdadera verdadero nueva
        nuevas nuevo nuevos uso usa usais usamos usan usar usas partir buen buena buenas bueno buenos gran
        grande grandes mayor mejor peor tarde temprano
    """,
    "fr": """
        basee bas debout façon facon gens nombreuses nombreux nouveau parle parlent parler parole possible
        possibles retour stop houp hou hop hue hui ouias pif psitt ouvert ouverte ouverts relative
        relativement rend rendre semblable specifique specifiques spécifique spécifiques suffisant
        suffisante personne
    """,
    "it": """
        anni anno ansa anticipo attesa casa caso citta città conciliarsi consiglio cortesia cima favore
        futuro generale giorni giorno governo grazie gruppo lavoro luogo mesi miliardi milioni minimi
        ministro momento mondo mosto nazionale osi ora ore paese persona persone piedi possedere presa press
        registrazione relativo scola scopo scorso srl titolo uomo vita volta volte inc tempo parte peccato
        forza fine lato nuovo grande marche improvviso possa brava bravo piglia uguali vicino lontano lungo
        recente recentemente macche mancanza buono
    """,
    "pt": """
        apoia apoio cidade comprida comprido conselho corrente grupo grupos iniciar inicio lado ligado local
        lugar mês meses momento máximo nível número números obrigada obrigado povo sistema tempo valor zero
        área exemplo tipo forma ponto pontos relação posição boa bom grande grandes nova novas novo novos
        conhecida conhecido caminho custa falta fim final geral coisa direita cima questão favor longe
    """,
    "nl": "klaar krachtens gauw prof publ vrij vroeg",
    "sv": """
        beslut beslutat beslutit dag dagar dagarna dagen del delen lätt lättare lättast långsam långsammare
        långsammast långsamt nödvändig nödvändiga nödvändigt viktig viktigare viktigast viktigt höger
        vänster vänstra god goda godare godast gott stor stora stort större störst små smått
    """,
    "fi": """
        aika aikaa aikaan aikana asia asiaa asian asiasta asiat asioiden asioihin asioita hyvien hyviin
        hyviksi hyville hyviltä hyvinä hyvissä hyvistä hyviä hyvä hyvät hyvää apu apua avun avuksi avulla
        avutta suuri suuren suuret suuria suurin vuosi vuoden vuotta vuotensa päivä päivät päivää taas työ
    """,
    "id": """
        bung hari ibu pak tahun masalah masalahnya tempat bulan besar kecil pihak pihaknya
    """,
    "bg": """
        автентичен глас година години годишен ден дни евтин екип жив живот кратък кръгъл лесен лесно летим
        летиш летя лош месец мек мокър смея смях син вдишване главен главна главно
    """,
    "uk": """
        відсотків день година мільйонів рік роки року років році тисяч час часу дарма
    """,
    "pl": "pan pana pani roku kierunku",
    "da": "god godt lav lave lad",
    "hu": "cikk cikkek cikkeket nagy nagyobb nagyon új újabb jó",
    "ru": """
        вресноту отнелижа отнелиже внакладе вверху гав год года году годы день дней человек люди время
    """,
    "sr": """
        радије видео добар добити поправка питати пут хвала захвалити учинио учинити употребити пожељан
    """,
    "fa": "آقای خطر خطرناک رشد متر نشست گروهی کوچک بزرگ",
    "ar": "يوم اليوم ابن أبو وأبو",
    "sk": "čas deň dni rok roka roky",
    "sl": "čas leto leta dan dobro dober dobra",
    "hi": "घर",
    "lt": "aleliuja bravo",
    "ro": "bucur frumos noroc graţie grație",
    "cs": "dobrý email strana strano den noví nový nové",
    "he": "סיבה הסיבה",
    "ca": "llavors",
}  # fmt: skip
"""Words with a meaning of their own: subjects, times, places, verbs of reporting; and slips of the source."""

ADDED = {
    "en": """
        a b c d e f g h i j k l m n o p q r s t u v w x y z am pm etc via vs per mr mrs ms dr re ve ll also
        just now even still yet however therefore though although perhaps maybe quite rather really almost
        already always often sometimes usually never ever again soon later much many lot lots several every
        each another others else one two three four five six seven eight nine ten us let lets let's like
        well get gets got gotten getting go goes going went gone gonna wanna make makes made making say says
        said saying see sees saw seen seeing take takes took taken taking come comes came coming give gives
        gave given giving put puts putting keep keeps kept keeping know knows knew known want wants wanted
        need needs needed seem seems seemed become becomes became becoming able anything something nothing
        everything anyone someone everyone nobody anybody somebody everybody itself oneself whatever whoever
        whichever dont cant didnt doesnt isnt wasnt wont couldnt shouldnt wouldnt havent hasnt hadnt im ive
        youre theyre thats whats theres heres y'all ain't gotta i'd you'd needn't mightn't daren't who's
        what's that's here's there's ok okay yes yeah oh hey hi please thanks thank too upon within without
        toward towards among amongst
        should've would've could've might've must've who've there've it'd that'd who'd there'd that'll
        who'll there'll shouldve wouldve couldve shes hes
        youve theyve weve cuz tho ur lol omg
    """,
    "de": """
        a b c d e f g h i j k l m n o p q r s t u v w x y z ä ö ü unserem unseren unserer unseres bzw etc
        usw zb mal daß dass jede jeder jedes jeden jedem hierzu hierfür hierbei hierin hiermit hieran daraus
        darauf daran darüber dahingehend diesbezüglich insbesondere insofern inzwischen immerhin jedenfalls
        sogar nämlich halt eben deren dessen anstatt statt trotz aufgrund anhand hinsichtlich bezüglich
        gemäß müsste müssten müßte müßten könnte könnten dürfte dürften möchten wollte wolle solle solltet
        sollst wäre wären wärst würdest hättest hattet wurdest werdest tut tun tust getan geben gibst
        gegeben gebe gäbe lassen lässt läßt ließ gelassen machen mache machst sagen sage sagst gehe gehst
        gegangen gingen kommst komme gekommen kamen stehen steht stehe stand gestanden bleibt bleiben bleibe
        blieb geblieben finden findet finde gefunden nehmen nimmt nehme genommen liegen liegt lag gelegen
        hält halten halte gehalten heißen nennt wissen weiß weiss wusste wußte sehen sieht sehe gesehen
        glauben glaube glaubt denken denke denkt bringen bringt gebracht stellen stellt stelle gestellt
        führen führt geführt zeigen zeigt gehören gehört brauchen braucht wer wem wen wessen wofür wodurch
        womit wozu woran worauf worüber worum wobei wonach wovon deswegen weshalb ebenfalls ebenso genauso
        gleichzeitig lediglich letztlich vielmehr weiterhin weder beziehungsweise irgendwie irgendwann
        irgendwo irgendetwas irgendwelche selber welches solches derselben daher dazu hinaus heraus herum
        hinein voran vorbei drauf dran raus rein hin her beim vom zum zur ins ans aufs fürs ums durchs
        einfach sicher sicherlich eigentlich offenbar offensichtlich wahrscheinlich selbstverständlich
        tatsächlich bestimmt gewiss gewiß zumindest mindestens höchstens nahezu fast beinahe häufig manchmal
        selten kein keine keinen keinem keiner keines hallo eins bloß mitunter soviel soweit sofern sobald
        solange falls indem seitens mittels innerhalb außerhalb entsprechend entsprechende entsprechenden
        sozusagen anderer anderes anderem anderen einige einiger einiges einigen sämtliche sämtlichen
        etliche mehrere mehreren mehrerer meisten meiste meistens alle allem allen aller alles allzu
        derartige derartigen derart jener jenen derzeit nochmals nochmal erneut danke bitte je jeweils
        jeweilige jeweiligen voll völlig ziemlich
        obwohl obgleich wenngleich wohingegen sowohl einerseits andererseits beides beider beidem
        keineswegs keinerlei hierzulande ebendeshalb weswegen dennoch hingegen somit folglich demnach
        ansonsten andernfalls schließlich zudem ebensowenig letztendlich allenfalls ohnehin sowieso
        vermutlich bevor sodass zwischendurch hierüber hierauf
    """,
    "es": """
        a b c d e f g h i j k l m n o p q r s t u v w x y z según aún sólo además etc éstas éstos aquellas
        allá acá quizás cuyo cuya cuyos cuyas sino aunque sería serían habría habrían podría podrían debería
        deberían debemos debía debían deberá deberán he hemos han ha había habían haber habido sido siendo
        estar estado hecho hacer hace hacen hizo dicho decir dice digo decimos diciendo dijo voy vamos van
        ir vaya iba iban creo creemos cree creen quiero quiere queremos quieren puedo puede podemos pueden
        poder tener tiene tenemos tienen tenido tengo tenga hay haya hubo cosa cosas algo alguien nadie nada
        cada cual cuales cualquiera cualesquiera así también tampoco ahora aquí allí después entonces luego
        pues mientras cuando donde como mismo misma vez veces hacia hasta desde parece parecen dar da dan
        dado sabe saben sabemos decía hacía hago ser usted ustedes os les se le lo solamente simplemente
        realmente precisamente absolutamente evidentemente naturalmente efectivamente través respecto
        incluso sobre acerca mediante dentro fuera ello ésta este esto esa ese eso sea sean fuera fueran
        será serán fue fueron era eran es son está están esté estén estaba estaban estamos va ve ver viene
        vienen venir hablar hablamos señalar manera modo forma caso hecho parte bueno bien muy más tan tanto
        mucha muchas mucho muchos todo toda todos todas otro otra otros otras ningún alguno varias dos tres
        cuatro cinco primer primera primero segunda segundo fin embargo decirle decirles tras don doña
        quisiera querría quería queda quedan sigue siguen seguir pone poner ponen pasa pasar hacerlo
        haciendo decirlo verdaderamente concretamente finalmente partir
        acaso siquiera ambas jamás ojalá asimismo igualmente conque pese tales cuán adonde
    """,
    "nl": """
        a b c d e f g h i j k l m n o p q r s t u v w x y z elkaar elkaars mee helemaal beetje hoor zo'n z'n
        m'n ja nee wel niet geen ook al alle alles alleen andere anders bij daar daarbij daardoor daarmee
        daarna daarnaast daaraan daarop daarover daartoe daarvan daarvoor deze die dit dat hier hierbij
        hierdoor hiermee hieraan hierop hierover hiertoe hiervan hiervoor waaraan waarbij waardoor waarmee
        waarna waarnaar waarop waarover waaronder waartoe waaruit waarvan waarvoor waarin hieruit daaruit er
        eraan erbij erin ermee erop erover ertoe eruit ervan ervoor gaan gaat ga ging gingen gegaan komen
        komt kom kwam kwamen gekomen maken maakt maak maakte gemaakt zeggen zegt zeg zei zeiden gezegd doen
        deed deden gedaan geven geeft geef gaf gegeven zien ziet zie zag gezien staan staat stond laten laat
        liet gelaten nemen neemt nam genomen krijgen krijgt kreeg gekregen vinden vindt vind vond gevonden
        weten weet wist willen wilden wil wilt denken denkt denk dacht gedacht blijven blijft bleef gebleven
        houden houdt hield liggen ligt zitten zit zat brengen brengt bracht gebracht zetten zet spreken
        spreekt sprak gesproken hoeven hoeft moet moeten moest moesten zou zouden zullen zal kunnen kan kon
        konden mogen mag worden wordt werd werden geworden zijn is was waren ben bent geweest hebben heeft
        had hadden heb gehad natuurlijk eigenlijk gewoon heel even echt wellicht helaas eveneens inderdaad
        immers namelijk overigens volgens tegelijk tegelijkertijd momenteel tevens teneinde ofwel oftewel
        hetgeen degene degenen diegenen dergelijke zodanig zodat waarbij ieder iedere iedereen niemand niets
        nergens ergens altijd soms vaker meest meeste steeds graag bepaalde bijzonder zowel evenmin noch nou
        hè ten ter eens weer toch nog nu één twee drie vier vijf tien zes via per rondom echter gaande
        alsof hoeveel destijds nauwelijks nogmaals sommigen zomaar tegenwoordig ofschoon mits vanzelf
        straks zojuist eindelijk desondanks niettemin daarentegen enerzijds trouwens hooguit kennelijk
        blijkbaar
    """,
    "fr": """
        a b c d e f g h i j k l m n o p q r s t u v w x y z aujourd'hui quelqu'un lorsqu parce cette ces
        ceux où dont aussi alors ainsi donc car ni or mais plus moins très bien tout tous toute toutes être
        avoir faire fait font fais faisait faisons dire dit disait va vont aller peut peuvent pouvoir
        pouvons pouvez doit doivent devons devoir veut veulent veux vouloir voulons faut falloir sait savoir
        savons est sont étaient était sera seront serait seraient ont aurait auraient aura auront avait
        avaient jamais toujours encore déjà beaucoup autant tant trop peu chaque plusieurs quelque voilà
        voici là ici y en lui leur eux cela ça ceci celui celle non oui si etc via afin lors puis ensuite
        notamment seulement vraiment certes d'abord d'ailleurs ailleurs plutôt quoi pourquoi comment combien
        entre vers chez sous sur sans pour par avec dans contre depuis pendant avant après jusque jusqu dès
        rien aucun aucune autre autres même mêmes tel telle tels telles mettre met mis prendre prend pris
        donner donne donné venir vient viennent venu voir voit vu c'est d'un d'une qu'il qu'elle qu'on n'est
    """,
    "it": """
        a b c d e f g h i j k l m n o p q r s t u v w x y z abbiamo hanno ho ha hai avete essere stato stata
        stati state sono siamo siete era erano sarà saranno cioè però quindi dunque poiché perché affinché
        così già più può possono potere posso potrebbe potrebbero deve devono dovrebbe fare fa fanno fatto
        detto dire dice dicono va vanno andare viene vengono venire dà dare sa sanno sapere vuole vogliono
        volere voglio vorrei ciò essa esse essi esso egli ella ne ci vi anche ancora allora ora poi mai
        sempre quasi tutto tutta tutti tutte ogni qualche alcuni alcune nessuno stesso stessa stessi stesse
        tale tali quello quella quelli quelle questo questa questi queste qual quale quali dove quando come
        mentre infatti inoltre tuttavia oppure ovvero nonché pure proprio solo soltanto verso presso durante
        dopo prima sotto sopra dentro fuori contro senza tra fra c'è cos'è dell all dall nell sull coll un l
        d s t m v quell quest sant po' molto molta molti molte troppo tanto poco altro altra altri altre ecc
    """,
    "pt": """
        nao não é são está estão sido ser ter tem têm há foi foram será serão seria pode podem poder deve
        devem já só até também mas ou se que quem qual quais onde quando como porque pois então assim ainda
        agora sempre nunca muito muita muitos muitas pouco todo toda todos todas outro outra cada mesmo
        mesma mesmos mesmas aqui ali lá isso isto aquilo este esta esse essa aquele aquela dele dela deles
        delas nosso nossa seu sua pelo pela pelos pelas ao à aos às no na nos nas num numa do da dos das um
        uma uns umas fazer faz fez feito dizer diz disse dar dá vai vão ir vem vêm ver sabe saber quer
        querem etc além através sobre entre sem sob após desde durante perante contra segundo conforme
        embora porém contudo todavia
    """,
    "no": """
        alle alt bare begge ble bli blir blitt både da de dei deim dem den der deres det dette disse du eg
        eller en enn er et ett etter for fordi fra før ha hadde han har hele helst her hit hos hun hva hver
        hvis hvor hvordan hvorfor i igjen ikke ingen inn innen jo kan kom kun kunne man mange med mellom men
        mer mest min mot mye må måtte mæ ned nei noe noen nok nå når nær ofte og også om opp oss over på
        selv si siden sin sitt ja skal skulle slik slike slikt som så til tilbake under unna ut uten var ved
        vel vi vil ville vår være vært vet allerede andre annen annet blant dermed derfor derimot enda ennå
        få får fått fikk gi gir gikk gjennom gjør gjøre gjorde gjort gå går hvorvidt ifølge imidlertid
        kommer komme langs like litt mens nesten neste rundt sa sammen samt sett se ser seg senere sier sist
        siste står ta tar tatt tidligere videre to tre fire fem
    """,
    "sv": """
        här där nu då så även också samt dock dels såsom eftersom därför alltså vilket vilken vilka vilkas
        ska skall skulle kan kunde bör borde måste får fick vill ville gör göra gjort går gå kommer komma
        säger säga sagt ser se sett ta tar tagit ge ger gett blir bli blev blivit
    """,
    "da": """
        også så når må kan skal vil bliver blev blevet været være gør gøre får få går gå kommer komme siger
    """,
    "et": """
        ainult aga alates all alla alles alati ega ehk ei ent et ette ga haaval hulgas ilma iga igal ise ja
        ju juba juures järel järgi ka kaasa kas keda kelle kellel kes kogu koos kord korral kui kuid kuidas
        kuigi kuna kuni kus kust kõige kõigi kõik küll läbi lisaks meid meie meil mida midagi mil mille
        millal millest milline millised miks mingi mingid minu mis mitte mitu mõne mõned mõni muu muud mu
        mul nad nagu need neid neil neile nende nendest ning nii no nüüd oleks olema olen oleme olete oled
        oli olid olla olnud oma omad on paar pea peab peaks peal peale pidi poole poolt praegu pole polnud
        puhul pärast rohkem saab saaks saavad sai sama samas samuti see seda sees seega sellal selle sellega
        sellel selleks selles sellest sellele sest sinu siin siis siiski sisse suhtes ta tal talle teda tema
        temal temale te teie teil teid teised teise teiste teine tuleb tulebki tõttu üks ühe ühte ühel väga
        välja vaid vahel vastu veel vist või võib võiks võivad võimalik võrra üle üldse üles ära enam enda
        endale enne eest edasi
    """,
    "hy": "համար ինչպես քան երբ որտեղ բայց եւ կարող կարելի շատ ավելի նաեւ արդեն",
    "eu": """
        bezala bidez baino baita baizik beraz berez dela delako delarik den dena denak dituzte duen duten
        egiten eginez egon euren gabe gainean gehiago hain haren hartu honen horrelako hortaz izango izaten
        izateko izatea izena kontra nahi nire orain oso zuen zure zuten zituzten zituen guztiak guztia arte
        arren artean ezin behar bai hau hori
    """,
    "ga": """
        bhí atá tá bíonn beidh bheadh raibh bhfuil níl is ba agat agam aige aici againn acu ort orm air
        uirthi orainn orthu leat liom léi linn leo dom duit di dúinn dóibh seo sin siúd féin eile gach uile
        nuair cé cad conas cén ach go mar má dá mura chuig chuir sula nó leis ó ón chomh níos
    """,
    "eo": """
        tiel kiel tial kial tiam kiam tie kie ĉie nenie tiom kiom iom tia kia ĉia ia ties kies antaŭe apud
        ĉar ĉe ĉirkaŭ dum ekster kontraŭ krom laŭ malgraŭ pri pro sen trans ol do eĉ ja jen jam tre tro nur
        ankaŭ povas povis povus devas devis volas volis oni unu ambaŭ
    """,
    "st": """
        bona bana bao bale ke ho hore ha hape kapa empa feela jwalo jwale joalo joale joaloka kahoo kahodimo
        kahare kapele kamora morao mona moo mane teng wena nna rona lona yena bone tsona dona hona sona yona
        tsa ya wa la sa ba le di tse tsena seo sena eo ena hoo hono hoba haholo ka kaofela ohle kaha leha
        esita ntle ne bile ile tla tlang tlo nang nale na ana hae hao hang ena ee mme mmoho
    """,
    "ja": """
        について により による として とは には では にも とも へと から まで より こそ でも しか だけ ます
        ません ました ませ まし でした です した して しま せん ない なり なる いる ある こと もの ため よう
        という
    """,
    "th": """
        ที่ ของ และ ใน เป็น ได้ ให้ ว่า ไม่ มี ไป มา นี้ นั้น จะ ก็ แต่ หรือ เขา เธอ เรา ฉัน ผม คุณ มัน ครับ
        ค่ะ นะ คือ เพราะ ทำ ทำให้ สำหรับ นำ
    """,
}  # fmt: skip
"""Function words that the sources lack."""

CHINESE = """
    的 了 和 是 在 我 有 他 她 它 这 那 你 您 们 我们 你们 他们 她们 它们 咱们 自己 人家 大家 不 没 没有
    也 都 就 还 又 再 很 太 更 最 非常 十分 比较 已 已经 曾 曾经 正在 将 将要 会 能 能够 可以 可能 应
    应该 必须 要 得 地 着 过 吗 呢 吧 啊 呀 哦 嘛 啦 把 被 让 使 给 对 对于 关于 向 往 从 自 自从 由
    由于 因 因为 所以 因此 因而 如果 假如 要是 倘若 只要 只有 除非 虽然 尽管 但 但是 可是 不过 然而 而
    而且 并 并且 或 或者 还是 与 及 以及 同 跟 于 以 为 为了 之 其 其中 其他 其它 其实 此 此外 这个 那个
    这些 那些 这样 那样 这么 那么 这里 那里 这儿 那儿 什么 怎么 怎样 如何 为什么 谁 哪 哪里 哪个 哪些 几
    多少 每 各 某 某些 任何 一些 一个 一种 一样 一直 一定 一般 一起 上 下 里 中 内 外 前 后 之前 之后
    之间 时 时候 当 当时 现在 以前 以后 以来 然后 接着 于是 只 只是 仅 仅仅 才 刚 刚才 却 并不 并非 不是
    不会 不能 不要 不同 便 即 即使 既 既然 则 若 否则 无论 不论 不管 不但 不仅 甚至 尤其 特别 例如 比如
    等 等等 所 所有 全部 许多 很多 有些 有的 有关 通过 根据 按照 经过 随着 作为 成为 就是 也是 都是 还有
    来 去 到 上面 下面 左右 一 二 三 两 个 些 次 种 位 件 次数 叫 说 像 如 如此 如同 似乎 好像 仍 仍然
    总是 经常 往往 常常 突然 忽然 果然 居然 竟然 反而 另 另外 别 别的 凡 哪怕 宁可 与其 乃 且 何 何况 岂
    曾经 彼此 互相 相当 极 极其 越 越来越
"""


def main(folder: Path) -> None:
    """Write all lists from the sources in a folder."""
    HERE.mkdir(exist_ok=True)
    spacy = _wheel(folder, "spacy-3.8.18")
    iso = json.loads(_wheel(folder, "stopwordsiso-0.7.1").read("stopwordsiso/stopwords-iso.json"))
    (snowball,) = folder.glob("usr/share/postgresql/15/tsearch_data")
    lists = {code: _of_spacy(spacy, code) for code in SPACY.split()}
    lists["no"] = set()  # spaCy's is made of newspapers' words
    lists |= {code: set(iso[code]) for code in ISO}
    lists["zh"] = set(CHINESE.split())
    for code, name in SNOWBALL.items():
        lists[code] |= set((snowball / f"{name}.stop").read_text(encoding="utf-8").split())
    lists["en"] |= set((HERE / "english.txt").read_text(encoding="utf-8").split())
    for code, words in lists.items():
        chosen = words - set(REMOVED.get(code, "").split()) | set(ADDED.get(code, "").split())
        kept = sorted({_normal(word) for word in chosen if _is_word(_normal(word))})
        (HERE / f"{code}.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
        print(code, len(kept))


def _wheel(folder: Path, name: str) -> zipfile.ZipFile:
    (path,) = folder.glob(f"{name}-*.whl")
    return zipfile.ZipFile(io.BytesIO(path.read_bytes()))


def _of_spacy(wheel: zipfile.ZipFile, code: str) -> set[str]:
    names: dict[str, set[str]] = {}
    exec(wheel.read(f"spacy/lang/{code}/stop_words.py"), names)
    return set(names["STOP_WORDS"])


def _normal(word: str) -> str:
    word = (
        unicodedata.normalize("NFC", word.lower().replace("i\u0307", "i")).replace("’", "'").replace("‘", "'")
    )
    return word.strip("'")


def _is_word(word: str) -> bool:
    """Return whether plait would find it as one word of text."""
    joined = re.sub(r"['\u200c\u200d]", "", word)
    return joined[:1].isalpha() and all(unicodedata.category(letter)[0] in "LM" for letter in joined)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
