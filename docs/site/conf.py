# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configuration of Sphinx. `make docs` lays out the sources below build/docs/source."""

import pathlib

import yaml
from docutils import nodes

GALAXY = yaml.safe_load((pathlib.Path(__file__).resolve().parents[2] / "galaxy.yml").read_text(encoding="utf-8"))

project = "rdma.ofed"
author = "The rdma.ofed engineers"
project_copyright = "2026 " + author
release = version = GALAXY["version"]
language = "en"

extensions = ["myst_parser", "sphinx_antsibull_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# As deep as the headings of the pages are: a link to a heading names it as a forge does.
myst_heading_anchors = 4

# Furo is maintained, has a dark mode and works on phones; sphinx-ansible-theme has neither of these two.
html_theme = "furo"
html_title = "rdma.ofed %s" % release
html_static_path = ["static"]
html_css_files = ["site.css"]
# Pages of plugins are made, and the README is the home page: buttons to edit a page would lead to files that do not exist.
html_theme_options = {"top_of_page_buttons": []}
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False

# Labels of Ansible's own documentation that the pages of plugins refer to. Its inventory of labels is not fetched: the site is built without network.
ANSIBLE = "https://docs.ansible.com/ansible/latest/"
LABELS = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}


def link_to_ansible(app, environment, node, content):
    """Resolve a reference to a label of Ansible's documentation."""
    page = LABELS.get(node["reftarget"])
    return nodes.reference("", "", content, refuri=ANSIBLE + page) if page else None


def without_contents(app, doctree):
    """Remove the tables of contents within pages, and the links back to them: the theme shows a table beside each page."""
    for topic in list(doctree.findall(nodes.topic)):
        if "contents" in topic["classes"]:
            topic.parent.remove(topic)
    for title in doctree.findall(nodes.title):
        title.attributes.pop("refid", None)


def setup(app):
    app.connect("missing-reference", link_to_ansible)
    app.connect("doctree-read", without_contents)
