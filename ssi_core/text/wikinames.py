"""Names with a meaning in the links of every Wikipedia: languages, sister projects, namespaces.

A dump states the namespaces of its own site; what it does not state is here: the aliases, and the
names of files and categories in the languages of the larger Wikipedias, so that an excerpt under a
foreign header is read as well.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(name.replace("_", " ") for name in text.split())


LANGUAGES = _names("""
aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb
ba ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm
bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq
dsb dtp dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy
ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr hsb
ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jv ka kaa kab kbd kbp
kcg kg kge ki kj kk kl km kn knc ko koi kr krc ks ksh ku kus kv kw ky la lad lb lbe lez lfn lg
li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min mk ml mn mni mnw mo
mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nds nds-nl ne new ng nia nl nn no nov nqo nr
nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn
qu rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn
si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy tdd te tet
tg th ti tig tk tl tly tn to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo
vro wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-classical zh-min-nan zh-yue zu
""")
"""Codes of the Wikipedias: prefixes of links from one language to another."""

PROJECTS = _names("""
b books c commons d foundation incubator m mail mediawikiwiki meta metawikipedia mw n nost
outreach phab phabricator q rev s species v voy w wikibooks wikidata wikilivres wikimedia
wikinews wikipedia wikiquote wikisource wikispecies wikitech wikiversity wikivoyage wikt
wiktionary wmf advogato acronym arxiv bugzilla doi google gerrit imdb irc jstor mediazilla
mozillawiki orthodoxwiki osmwiki pmid rfc sourceforge tvtropes unihan usemod wikia
""")
"""Prefixes of links to other projects: the sister projects and the common interwiki names."""

FILES = _names("""
file image media datei bild fichier archivo imagen immagine ficheiro imagem bestand
afbeelding plik grafika soubor fil файл изображение зображення ファイル 画像 文件 檔案 档案 图像
圖像 파일 그림 tiedosto kuva fájl kép dosya resim fitxer imatge berkas gambar tập_tin hình ملف صورة
پرونده تصویر קובץ תמונה चित्र slika датотека слика dosiero fișier fisier imagine súbor αρχείο
εικόνα
""")
"""Names of the namespaces of files, lower case, blanks for underscores."""

CATEGORIES = _names("""
category kategorie catégorie categoría categoria categorie kategoria kategori
kategória категория категорія カテゴリ 分类 分類 분류 luokka kategorija категорија kategorio
thể_loại تصنيف رده קטגוריה श्रेणी κατηγορία
""")
"""Names of the namespace of categories, lower case, blanks for underscores."""

HIDDEN = FILES | CATEGORIES | LANGUAGES
"""Prefixes of links that leave no word in a page's text: files, categories, other languages."""
