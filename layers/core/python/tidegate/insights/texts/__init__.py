"""Figures for people and spreadsheets."""
