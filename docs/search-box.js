// The search of these pages, which `make docs` writes beside them, stands in their header.
document.querySelector(".md-header__inner").append(document.createElement("ssi-search"));
