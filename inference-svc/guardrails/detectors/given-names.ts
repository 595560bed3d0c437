/** Common given names. Those that are as often a place, a month or a word stand aside: Paris, Jordan, April, Will, Mark. */
export const givenNames: ReadonlySet<string> = new Set(
  (
    "Aaron Abdul Abdullah Abigail Adam Adrian Agnes Ahmed Aisha Alan Albert Alejandro Alessandro Alex Alexander Alexandra Alfred Ali Alice Alicia Alison Amanda Amelia Amina Amir Amit Amy Ana Anders " +
    "Andrea Andreas Andrew Angela Anita Ann Anna Anne Annika Anthony Antonio Arjun Arthur Astrid Barbara Beatrice Ben Benjamin Bernard Beth Bjorn Björn Bob Boris Brandon Brenda Brian Bruno Camille " +
    "Carl Carla Carlos Carmen Carol Caroline Catherine Cecilia Chen Chloe Chloé Chris Christian Christina Christine Christopher Claire Clara Claudia Connor Craig Cynthia Daniel Daniela David Deborah " +
    "Deepak Denis Dennis Diana Diego Dieter Dimitri Dmitri Dominic Donald Dorothy Douglas Edith Eduardo Edward Eleanor Elena Elias Elisabeth Elizabeth Ella Ellen Emily Emma Eric Erik Erin Esther Eva " +
    "Evelyn Fatima Felix Fernando Fiona Franck Francesca Francesco Francis Francisco Frank Franz Fred Frederick Friedrich Fritz Gabriel Gabriela Gary George Gerald Giovanni Giulia Giuseppe Gloria Gordon " +
    "Grace Graham Greg Gregory Greta Guillaume Gustav Hannah Hans Harold Harry Hassan Heather Heidi Heinz Helen Helena Helga Henri Henry Hiroshi Hugo Ian Ibrahim Igor Ingrid Irene Isaac Isabel Isabella " +
    "Ivan Jack Jacob Jacqueline Jakob Jakub James Jan Jane Janet Jason Javier Jean Jeff Jeffrey Jennifer Jeremy Jesse Jessica Joan Joanna Johan Johann Johannes John Jonas Jonathan Jorge Jose José Josef " +
    "Joseph Joshua Joyce Juan Judith Julia Julian Julie Jürgen Justin Karen Karim Karin Karl Kate Katharina Katherine Kathleen Katja Keith Kelly Ken Kenji Kenneth Kevin Khaled Kim Klaus Krishna Kumar Kurt " +
    "Lars Laura Lauren Laurent Lea Leila Lena Leo Leon Leonardo Leonie Lewis Liam Linda Lisa Liz Louis Louise Luca Lucas Lucia Lucy Luigi Luis Lukas Luke Magdalena Malcolm Manuel Marc Marcel Marco Marcus " +
    "Margaret Maria María Marie Mario Marion Markus Martha Martin Martina Mary Mateo Matteo Matthew Matthias Maurice Max Maxim Mei Melissa Michael Michel Michelle Miguel Mike Mikhail Ming Miriam Mohamed " +
    "Mohammad Mohammed Mona Monica Monika Muhammad Nancy Naomi Natalia Natalie Natasha Nathan Neil Nicholas Nicola Nicolas Nicole Nigel Nikita Nikolai Nils Nina Noah Nora Oksana Olaf Olga Oliver Olivia Omar " +
    "Oscar Oskar Otto Pablo Pamela Paola Patricia Patrick Paul Paula Paulo Pavel Pedro Peter Petra Philip Philipp Phillip Pierre Piotr Priya Rachel Rafael Rahul Raj Ralph Ramon Raphael Raymond Rebecca Reza " +
    "Ricardo Richard Rita Robert Roberto Robin Roger Roland Ronald Rosa Ruth Ryan Sabine Samantha Samir Samuel Sandra Sanjay Sara Sarah Scott Sean Sebastian Sergei Sergio Shannon Sharon Silvia Simon Simone " +
    "Sofia Sophia Sophie Stefan Stefanie Stella Stephan Stephanie Stephen Steve Steven Stuart Sunita Susan Susanne Sven Svetlana Sylvia Takeshi Tanja Tara Tatiana Teresa Theodore Theresa Thomas Tim Timothy " +
    "Tobias Tom Tomas Tony Ulrich Ursula Uwe Valentina Vanessa Vera Veronica Vikram Viktor Vincent Vladimir Walter Wei Wendy Werner William Wolfgang Xavier Yan Yasmin Yuki Yusuf Yvonne Zainab Zoe Zoë"
  ).split(" "),
);
